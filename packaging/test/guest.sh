#!/usr/bin/env bash
# Inside the root that packaging/test/deb.sh has made: one part of the test, by name.
set -euo pipefail
part=${1:?which part}
. "$(dirname "${BASH_SOURCE[0]}")/guest_tools.sh"

configure() {
  cat >/etc/sendonce/sendonce.toml <<'END'
config_version = 1
[instance]
drain = "10s"
[provider.apns]
kind     = "apns"
endpoint = "https://localhost:18443"
topic    = "com.example.app"
auth     = { team = "TEAM123456", key_id = "KEY1234567", key = "cred:apns.p8" }
call     = { connect = "2s", total = "5s" }
tls      = { ca = "/etc/sendonce/ca.pem" }
[class.orders]
subject   = "notify.orders.>"
expires   = "24h"
retention = "11d"
ambiguous = { default = "give-up" }
route     = { push = ["apns"] }
END
}

part_installed() { # nothing runs yet: a chroot
  is "version" 0.0.9-1 "$(dpkg-query -W -f '${Version}' sendonce)"
  has "user" "/var/lib/sendonce" "$(getent passwd sendonce)"
  is "state directory" "750 sendonce:sendonce" "$(mode_of /var/lib/sendonce)"
  is "credstore" "700 root:root" "$(mode_of /etc/credstore)"
  is "unit" disabled "$(systemctl is-enabled "$unit" 2>/dev/null)"
  is "changed files" "" "$(dpkg -V sendonce libsendonce0)"
  has "conffile" "/etc/sendonce/sendonce.toml" \
    "$(dpkg-query -W -f '${Conffiles}' sendonce)"
  has "daemon" "sendonced 0" "$(sendonced --version)"
  is "missing libraries" "" \
    "$(ldd /usr/sbin/sendonced /usr/bin/sendonce | grep 'not found' || true)"
  is "systemd-analyze verify" "" \
    "$(systemd-analyze verify --man=no "$unit.service" 2>&1 | grep "$unit.service" || true)"
}

part_start() {
  local dropins=/etc/systemd/system/nats-server.service.d
  printf 'listen: "127.0.0.1:4222"\njetstream { store_dir: "/var/lib/nats" }\n' \
    >/etc/nats-server.conf
  mkdir -p "$dropins"
  printf '[Service]\nStateDirectory=nats\n' >"$dropins/jetstream.conf"
  systemctl daemon-reload
  systemctl restart nats-server
  systemd-run --quiet --unit=fakeprov sendonce-fakeprov --port 18443 --latency 50 \
    --make-credentials /opt/test/creds
  soon 10 "the fake provider listens" \
    curl -sf --cacert /opt/test/creds/ca.pem https://localhost:18443/__stats
  install -m 0600 /opt/test/creds/apns.p8 /etc/credstore/apns.p8
  install -m 0644 /opt/test/creds/ca.pem /etc/sendonce/ca.pem
  configure
  sendonce check-config >/dev/null || bad "check-config"
  good "check-config"
  sendonce setup >/dev/null || bad "setup failed"
  good "setup as root"
  is "ledger belongs to" sendonce:sendonce "$(stat -c %U:%G /var/lib/sendonce/ledger/data.mdb)"
  systemctl enable --quiet --now "$unit" || bad "it does not start"
  is "state" active "$(property ActiveState)"
  soon 20 "ready" is_ready
  is "admin socket" "660 sendonce:sendonce" "$(mode_of /run/sendonce/admin.sock)"
  curl -sf --unix-socket /run/sendonce/admin.sock http://sendonce/readyz >/dev/null ||
    bad "/readyz does not answer"
  # By mode 0500, or with a newer systemd by an access list, which shows as 0550.
  if setpriv --reuid=65534 --regid=65534 --clear-groups \
    cat "/run/credentials/$unit.service/apns.p8" >/dev/null 2>&1; then
    bad "another user reads the credentials"
  fi
  good "credentials seen by the service alone"
  publish 1 && publish 1
  soon 20 "delivered" state_is e1 accepted
  soon 10 "the duplicate is suppressed" counter_is duplicates_suppressed 1
  has "the provider saw it once" '"accepted":1' "$(copies 1)"
  local score
  score=$(systemd-analyze security "$unit" --no-pager |
    grep -o 'exposure level[^0-9]*[0-9.]*' | grep -o '[0-9.]*$')
  is "exposure $score is at most 1.5" 1 "$(awk -v s="$score" 'BEGIN { print (s <= 1.5) }')"
  systemctl restart nats-server
  soon 20 "streams survive a restart of nats-server" is_ready
}

part_reload() {
  systemctl reload "$unit" || bad "a good reload failed"
  good "reload"
  local pid
  pid=$(property MainPID)
  sed -i 's/^drain.*/drian = "10s"/' /etc/sendonce/sendonce.toml
  if systemctl reload "$unit" 2>/dev/null; then bad "a wrong key was not refused"; fi
  soon 10 "refused by the command line" journal_has instance.drian
  configure
  sed -i 's/^topic.*/topic = "com.example.other"/' /etc/sendonce/sendonce.toml
  if systemctl reload "$unit" 2>/dev/null; then bad "another app was not refused"; fi
  soon 10 "refused by the daemon" journal_has admin.reload_refused
  configure
  is "the same process" "$pid" "$(property MainPID)"
  is "still" active "$(property ActiveState)"
}

part_kill() {
  for n in $(seq 10 40); do publish "$n"; done
  systemctl kill --signal=SIGKILL --kill-who=main "$unit"
  soon 30 "started again after SIGKILL" restarted 1
  soon 20 "ready" is_ready
  for n in $(seq 10 40); do
    local limit=$((SECONDS + 60))
    until state_is "e$n" accepted || state_is "e$n" unknown; do
      [ "$SECONDS" -lt "$limit" ] || bad "e$n has not ended"
      sleep 0.2
    done
    grep -qE '"accepted":([2-9]|1[0-9])' <<<"$(copies "$n")" && bad "e$n was sent twice"
  done
  good "31 deliveries ended, none was sent twice"
  publish 1
  soon 10 "what was sent before is remembered" counter_is duplicates_suppressed 1
}

part_restart_policy() {
  sed -i 's/^drain.*/drian = "10s"/' /etc/sendonce/sendonce.toml
  systemctl restart "$unit" 2>/dev/null && bad "it started with a wrong configuration"
  is "state" failed "$(property ActiveState)"
  is "exit code" 78 "$(property ExecMainStatus)"
  sleep 7 # longer than RestartSec
  is "not tried again" failed "$(property ActiveState)"
  configure
  systemctl reset-failed "$unit" && systemctl start "$unit"
  soon 20 "ready after it was mended" is_ready
}

part_watchdog() {
  mkdir -p "/run/systemd/system/$unit.service.d"
  printf '[Service]\nWatchdogSec=2s\n' >"/run/systemd/system/$unit.service.d/test.conf"
  systemctl daemon-reload && systemctl restart "$unit"
  local before
  before=$(property NRestarts)
  sleep 5
  is "fed while it works: restarts" "$before" "$(property NRestarts)"
  kill -STOP "$(property MainPID)"
  soon 40 "a process that hangs is replaced" restarted "$((before + 1))"
  rm "/run/systemd/system/$unit.service.d/test.conf"
  systemctl daemon-reload && systemctl restart "$unit"
  soon 20 "ready" is_ready
}

part_stop() {
  for n in $(seq 50 70); do publish "$n"; done
  local begun=$SECONDS
  systemctl stop "$unit"
  is "stopped" inactive "$(property ActiveState)"
  is "result" success "$(property Result)"
  [ $((SECONDS - begun)) -le 15 ] || bad "it took $((SECONDS - begun)) s"
  soon 10 "nothing was left in doubt" journal_has 'event=daemon.stopped$'
  systemctl start "$unit"
  soon 20 "ready" is_ready
  soon 60 "what was left is delivered" state_is e70 accepted
}

part_upgrade() {
  local pid rows
  pid=$(property MainPID)
  rows=$(sendonce list --limit 1000 --json | grep -c '"key"')
  dpkg -i /opt/test/new/*.deb >/opt/test/upgrade.log 2>&1 </dev/null ||
    { cat /opt/test/upgrade.log && bad "dpkg"; }
  has "configuration kept" "localhost:18443" "$(cat /etc/sendonce/sendonce.toml)"
  is "still" active "$(property ActiveState)"
  [ "$(property MainPID)" != "$pid" ] && good "restarted" || bad "the old process still runs"
  soon 20 "ready" is_ready
  is "rows of the ledger" "$rows" "$(sendonce list --limit 1000 --json | grep -c '"key"')"
  publish 1
  soon 10 "the old ledger suppresses the duplicate" counter_is duplicates_suppressed 1
  has "the provider has still seen it once" '"accepted":1' "$(copies 1)"
}

part_remove() {
  dpkg -r sendonce >/dev/null 2>&1
  is "stopped" inactive "$(systemctl is-active "$unit" || true)"
  [ -s /var/lib/sendonce/ledger/data.mdb ] && good "the ledger stays" || bad "the ledger is gone"
  [ -s /etc/sendonce/sendonce.toml ] && good "the configuration stays" || bad "no configuration"
}

part_purge() {
  rm -f /etc/sendonce/ca.pem # ours, not the package's
  dpkg -P sendonce libsendonce0 >/opt/test/purge.log 2>&1
  [ ! -e /var/lib/sendonce ] && good "the ledger is gone" || bad "/var/lib/sendonce is left"
  [ ! -e /etc/sendonce/sendonce.toml ] && good "the configuration is gone" || bad "it is left"
  is "files left" "" "$(find /usr /etc -xdev -name '*sendonce*' -not -path '/usr/share/doc/*')"
}

"part_$part"
