#!/usr/bin/env bash
# Inside the root that packaging/test/deb.sh has made: a new operator, who types what is printed.
# The commands of docs/operations.md are taken from it, those that repair a fault from what
# `sendonce doctor` prints.
set -euo pipefail
part=${1:?which part}
. "$(dirname "${BASH_SOURCE[0]}")/guest_tools.sh"
creds=/var/tmp/fakeprov # as the document says
document=/opt/test/operations.md
steps=/opt/test/steps
config=/etc/sendonce/sendonce.toml
patience=300 # seconds, from the installation to the page

# blocks FROM TO: the code blocks between two lines, as $steps/NUMBER.LANGUAGE.
blocks() {
  rm -rf "$steps" && mkdir -p "$steps"
  awk -v from="$1" -v to="$2" -v place="$steps" '
    $0 == to { exit }
    $0 == from { there = 1 }
    /^```$/ { file = "" }
    file { print >file }
    there && /^```[a-z]/ { file = place "/" ++count "." substr($0, 4) }' "$document"
}

part_install() {
  blocks "## Install" "### Keys"
  is "blocks of the document" "1.sh 2.sh 3.sh 4.toml 5.sh" "$(cd "$steps" && echo *)"
  cp /etc/apt/apt.conf.d/99yes "$steps/begun" # its time is when it all began
  (cd /opt/test/new && bash -e "$steps/1.sh") >/opt/test/install.log 2>&1 ||
    { tail -n 20 /opt/test/install.log >&2 && bad "$(cat "$steps/1.sh")"; }
  good "$(cat "$steps/1.sh")"
  zcat -f /usr/share/doc/sendonce/operations.md* | cmp - "$document" ||
    bad "the package has another document"
  good "the package has this document"
  cp /etc/nats-server.conf /opt/test/nats-server.conf
}

# The printed line that begins with these words, in the shell that has typed the ones before.
look() { grep -- "^$1" "$steps/look.sh" | bash; }
shows() { look "$1" 2>&1 | grep -qE -- "$2"; }
duplicates_are() { # in the table of the status
  [ "$(look "sendonce status" | awk '
    $1 == "class" { for (i = 1; i <= NF; ++i) if ($i == "duplicates") at = i }
    $1 == "orders" { print $at }')" = "$1" ]
}

# typed STEP WHAT: a block, as printed.
typed() {
  bash -e "$steps/$1" >/opt/test/said 2>&1 || {
    cat "$steps/$1" /opt/test/said >&2
    bad "$2"
  }
  good "$2"
}

part_first_run() {
  local ours='^(sendonce (inspect|status|page)|curl) '
  grep -vE "$ours" "$steps/5.sh" >"$steps/do.sh"
  grep -E "$ours" "$steps/5.sh" >"$steps/look.sh"
  typed 2.sh "NATS"
  typed 3.sh "a provider to test against"
  cp "$steps/4.toml" "$config"
  typed do.sh "start, and one delivery, published twice"
  soon 10 "accepted, with a receipt" shows "sendonce inspect" accepted
  soon 10 "one duplicate suppressed" duplicates_are 1
  soon 5 "metrics: one accepted" shows curl 'outcomes_total\{class="orders",outcome="accepted"\} 1$'
  soon 5 "metrics: one suppressed" shows curl 'duplicates_suppressed_total\{class="orders"\} 1$'
  has "the provider saw it once" '"accepted":1' "$(copies 1)"
}

part_page() {
  sed -n 's/^sendonce page/exec &/p' "$steps/look.sh" >"$steps/page.sh"
  bash "$steps/page.sh" >/opt/test/page.out 2>&1 &
  local page=$! address place proof jar=/opt/test/cookies
  soon 10 "it prints its address" grep -q token= /opt/test/page.out
  address=$(grep -o 'http://[^ ]*token=[^ ]*' /opt/test/page.out)
  place=${address%%/\?*}
  proof=$(curl -s -c "$jar" -o /dev/null -w '%{redirect_url}' "$address")
  proof=${proof##*#proof=}
  ask() { curl -s -b "$jar" -H "Sendonce-Request: $proof" "$place$1"; }
  code() { curl -s -o /dev/null -w '%{http_code}' "$@"; }
  has "the page" '<title>sendonce' "$(ask /)"
  has "the notification on it" '"state":"accepted"' "$(ask '/v1/inspect?event=ord-8812')"
  has "its traffic" 'sendonce_duplicates_suppressed_total{class="orders"} 1' "$(ask /metrics)"
  has "its classes" '"orders"' "$(ask /v1/status)"
  is "the address works once" 403 "$(code "$address")"
  is "a stranger" 401 "$(code "$place/v1/status")"
  is "a session without the page's proof" 403 "$(code -b "$jar" "$place/v1/status")"
  kill "$page"
  wait "$page" || bad "it ended with $?"
  good "it ends when it is told to"
  local took=$(($(date +%s) - $(stat -c %Y "$steps/begun")))
  [ "$took" -le "$patience" ] || bad "from the installation to the page it took $took s"
  good "from the installation to the page: $took s"
}

# ---- faults, repaired with what doctor printed --------------------------------------------------

is_well() { sendonce doctor >/opt/test/doctor 2>&1; }
# The commands below the red lines, in their order, each once.
printed() {
  awk '/^(green|yellow|red) / { red = $1 == "red" }
    red && /^        (repair: |        )/ { line = substr($0, 17); if (!done[line]++) print line }
    /^$/ { red = 0 }' /opt/test/doctor
}
# type LINE: as an operator does, who knows which file has the right key and nothing else.
type_in() {
  local line=${1//NEW_FILE/$creds/apns.p8}
  line=${line//NEW_KEY/$creds/apns.p8}
  case "$line" in *EDITOR*) bad "an editor is no repair: $line" ;; esac
  printf '        %-14s %s\n' "$part" "$line"
  timeout 60 bash -c "$line" >/opt/test/typed.log 2>&1 </dev/null || case "$line" in
    *"# or as the line"*) ;; # another red line says more, and is typed, too
    *) bad "it ended with $?: $(tail -n 1 /opt/test/typed.log)" ;;
  esac
}
# repaired CHECK NUMBER: doctor finds it, and after what it prints finds nothing; event NUMBER gets
# through.
repaired() {
  is_well && bad "doctor finds nothing"
  grep -q "^red  *$1 " /opt/test/doctor || { cat /opt/test/doctor >&2 && bad "no red line: $1"; }
  good "doctor: $(grep -m 1 "^red  *$1 " /opt/test/doctor | tr -s ' ' | cut -c1-90)"
  local line
  systemctl reset-failed nats-server # nobody restarts it as often in ten seconds
  printed >/opt/test/repair
  while IFS= read -r line; do type_in "$line"; done </opt/test/repair
  soon 15 "repaired" is_well
  soon 30 "ready" is_ready
  publish "$2"
  soon 60 "a delivery goes through" state_is "e$2" accepted
}

part_healthy() {
  is_well || { cat /opt/test/doctor >&2 && bad "doctor finds something"; }
  good "doctor finds nothing"
}

listens() { (exec 3<>/dev/tcp/127.0.0.1/4222) 2>/dev/null; }
# With its new settings; the fault is in them, not in its being away.
restart_nats() {
  systemctl daemon-reload
  systemctl reset-failed nats-server # as in repaired
  systemctl restart nats-server
  soon 10 "nats-server listens" listens
}

part_jetstream_off() {
  rm -r /etc/systemd/system/nats-server.service.d
  cp /opt/test/nats-server.conf /etc/nats-server.conf # as Debian has it
  restart_nats
  repaired jetstream 101
}

part_store_in_tmp() {
  rm -r /etc/systemd/system/nats-server.service.d
  printf 'listen: "127.0.0.1:4222"\njetstream {}\n' >/etc/nats-server.conf
  rm -r /var/lib/nats
  restart_nats
  sendonce setup >/dev/null && systemctl restart "$unit"
  repaired store 102
  restart_nats
  soon 30 "what is stored now outlives a restart" is_well
}

part_no_key() {
  printf 'junk\n' >/etc/credstore/apns.p8
  systemctl restart "$unit" 2>/dev/null && bad "it starts without a key"
  repaired credential 103
}

holds() { sendonce status --json | grep -q InvalidProviderToken; }
part_wrong_key() {
  openssl ecparam -name prime256v1 -genkey -noout | openssl pkcs8 -topk8 -nocrypt \
    >/etc/credstore/apns.p8
  systemctl restart "$unit"
  publish 200
  soon 30 "the provider refuses it" holds
  repaired hold 104
  soon 30 "what waited is delivered" state_is e200 accepted
}

# nats SUBJECT BODY: a request; prints the answer.
nats() {
  local line
  exec 3<>/dev/tcp/127.0.0.1/4222
  printf 'CONNECT {"verbose":false}\r\nSUB answer 1\r\nPUB %s answer %s\r\n%s\r\n' \
    "$1" "${#2}" "$2" >&3
  while IFS= read -r -t 10 line <&3; do
    case "$line" in '{'*) printf '%s\n' "$line" && break ;; esac
  done
  exec 3>&-
}
the_consumer() { # sets stream, durable, settings
  local object
  object=$(sendonce doctor --json | grep -o '"check":"consumer","object":"[^"]*"' | cut -d'"' -f8)
  stream=${object%/*} durable=${object#*/}
  settings=$(nats "\$JS.API.CONSUMER.INFO.$stream.$durable" '' |
    sed -n 's/.*"config":\({.*}\),"delivered".*/\1/p')
  has "its settings" '"max_deliver":-1' "$settings"
}
make_consumer() { # SETTINGS
  nats "\$JS.API.CONSUMER.DURABLE.CREATE.$stream.$durable" \
    "{\"stream_name\":\"$stream\",\"config\":$1}" | grep -q '"config"' || bad "it is not made: $1"
}
part_consumer() {
  the_consumer
  make_consumer "${settings/\"max_deliver\":-1/\"max_deliver\":5}"
  repaired consumer 105
}
part_push_consumer() { # which no server changes back
  the_consumer
  nats "\$JS.API.CONSUMER.DELETE.$stream.$durable" '' | grep -q '"success":true' || bad "delete"
  settings=$(sed 's/"max_waiting":[0-9]*,\?//; s/^{/{"deliver_subject":"elsewhere",/' <<<"$settings")
  make_consumer "$settings"
  repaired consumer 107
}

batch() { # NUMBER: an event for 500 devices
  local n targets=
  for n in $(seq $((1000 * $1)) $((1000 * $1 + 499))); do
    targets+=",{\"provider\":\"apns\",\"token\":\"$(token "$n")\"}"
  done
  printf '{"event_id":"batch%s","recipient":"u","channel":"push","template":"t",' "$1"
  printf '"targets":[%s],"notification":{"title":"T"}}' "${targets:1}"
}
is_full() { sendonce status --json | grep -q '"claims_stopped":true'; }
part_full_map() {
  printf '\n[ledger]\nmap_size = "16MiB"\n' >>"$config"
  systemctl restart "$unit"
  soon 20 "ready with a small map" is_ready
  local n=0
  until is_full; do
    n=$((n + 1))
    [ "$n" -le 400 ] || bad "it does not fill"
    batch "$n" | sendonce publish orders --file - >/dev/null || bad "publish"
  done
  good "full after $n events for 500 devices"
  repaired ledger.map 106
  soon 120 "what waited is delivered" state_is "batch$n" accepted
}

# docs/operations.md, "Backups", as printed.
part_backup() {
  blocks "### Backups" "### Changing keys"
  is "blocks of the document" "1.sh 2.sh" "$(cd "$steps" && echo *)"
  publish 300
  soon 30 "sent before the backup" state_is e300 accepted
  (for n in $(seq 301 340); do publish "$n"; done) &
  typed 1.sh "a backup while it sends, verified"
  wait $!
  publish 350
  soon 60 "sent after the backup" state_is e350 accepted
  local place at damaged=/var/backups/damaged
  place=$(echo /var/backups/sendonce-*)
  cp -r "$place" "$damaged"
  at=$(grep -abo -m 1 e300 "$damaged/data.mdb" | head -n 1 | cut -d: -f1)
  printf 'f' | dd of="$damaged/data.mdb" bs=1 seek="$at" conv=notrunc status=none
  local code=0
  sendonce ledger verify "$damaged" >/dev/null 2>&1 || code=$?
  is "a flipped bit is found" 74 "$code"
  grep 'systemctl stop' "$steps/2.sh" >"$steps/stop.sh"
  grep '^sendonce' "$steps/2.sh" >"$steps/restore.sh"
  typed stop.sh "the ledger is lost"
  publish 350 # sent after the backup, and nobody knows
  typed restore.sh "restored"
  has "the document has what restore prints" \
    "$(grep -o 'sendonce setup --adopt.*' /opt/test/said)" "$(tr -s ' ' <"$steps/2.sh")"
  systemctl start "$unit" || bad "it does not start on the restored ledger"
  soon 30 "ready" is_ready
  soon 60 "what may have been sent is not sent again" state_is e350 unknown
  has "the provider has seen it once" '"accepted":1' "$(copies 350)"
  publish 300
  soon 30 "what the backup knows is suppressed" counter_is duplicates_suppressed 1
  is_well || { cat /opt/test/doctor >&2 && bad "doctor finds something"; }
  good "doctor finds nothing"
}

"part_$part"
