# Inside a root of packaging/test/deb.sh: what guest.sh and operator.sh say and ask alike. To be
# sourced, with the name of the part in $part.
unit=sendonced
creds=/opt/test/creds # of the fake provider

good() { printf '  ok    %-14s %s\n' "$part" "$*"; }
bad() {
  printf '  FAIL  %-14s %s\n' "$part" "$*" >&2
  journalctl -u "$unit" --no-pager -n 40 >&2 2>/dev/null || true
  exit 1
}
# is NAME WANTED GOT
is() { if [ "$2" = "$3" ]; then good "$1: $3"; else bad "$1: '$3', not '$2'"; fi; }
has() { if grep -qF -- "$2" <<<"$3"; then good "$1"; else bad "$1: no '$2' in: $3"; fi; }
# soon SECONDS WHAT COMMAND...: it succeeds within that time
soon() {
  local limit=$((SECONDS + $1)) what=$2
  shift 2
  while ! "$@" >/dev/null 2>&1; do
    [ "$SECONDS" -lt "$limit" ] || bad "$what"
    sleep 0.2
  done
  good "$what"
}

property() { systemctl show "$unit" --property="$1" --value; }
counter() { # of the class, from the status
  sendonce status --json | grep -o "\"$1\":[0-9]*" | head -n 1 | cut -d: -f2
}
state_is() {
  [ "$(sendonce inspect "$1" --json | grep -o '"state":"[a-z]*"' | head -n 1)" = \
    "\"state\":\"$2\"" ]
}
counter_is() { [ "$(counter "$1")" = "$2" ]; }
is_ready() { sendonce status --json | grep -q '"state":"ready"'; }
copies() { # what the provider has seen of a device
  curl -s --cacert "$creds/ca.pem" "https://localhost:18443/__stats?detail=1" |
    grep -o "\"apns:$(token "$1")\":{[^}]*}" || true
}
token() { printf '%064x' "$1"; }
publish() { # NUMBER: event e<NUMBER> for device NUMBER
  sendonce publish orders --event "e$1" --recipient user --template t --provider apns \
    --token "$(token "$1")" --title T >/dev/null
}
journal_has() { journalctl -u "$unit" --no-pager -n 20 | grep -q -- "$1"; }
restarted() { [ "$(property NRestarts)" = "$1" ] && [ "$(property ActiveState)" = active ]; }
mode_of() { stat -c '%a %U:%G' "$1"; }
