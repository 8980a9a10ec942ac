// Root beside the packaged service finds the credentials where its unit takes them from.
#pragma once

namespace sendonce::cli {

// Before any thread: CREDENTIALS_DIRECTORY, unless it is set, becomes /etc/credstore if that is
// there.
void use_credential_store();

}  // namespace sendonce::cli
