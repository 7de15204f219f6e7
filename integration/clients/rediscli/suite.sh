#!/usr/bin/env bash
# Locks with redis-cli against the server at --addr, in named cases. Prints one line per case, "ok NAME DETAILS" or
# "not ok NAME REASON"; the exit code is 1 when any case failed.
# Usage: suite.sh --addr HOST:PORT [--redfence]     (--redfence: also what only redfence has, its fencing tokens)
set -u

addr='' redfence=''
while [ $# -gt 0 ]; do
  case $1 in
    --addr) addr=${2:?} && shift 2 ;;
    --redfence) redfence=yes && shift ;;
    *) echo "unknown option $1" >&2 && exit 2 ;;
  esac
done
[ -n "$addr" ] || { echo "--addr is required" >&2 && exit 2; }
host=${addr%:*} port=${addr##*:}
key="redis-cli:$$:$RANDOM"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failed=0

cli() { timeout 20 redis-cli -h "$host" -p "$port" "$@" 2>&1; }

# expect WHAT WANT GOT: fails the case unless they are the same text.
expect() {
  [ "$2" = "$3" ] || { echo "$1: want '$2', got '$3'" && return 1; }
}

# between WHAT LOW VALUE HIGH: fails the case unless LOW < VALUE <= HIGH.
between() {
  [[ $3 =~ ^-?[0-9]+$ ]] && [ "$3" -gt "$2" ] && [ "$3" -le "$4" ] ||
    { echo "$1: want above $2 and up to $4, got '$3'" && return 1; }
}

# run NAME FUNCTION: a case fails when its function returns other than 0; what it prints is the details or the reason.
run() {
  local printed
  if printed=$($2 "$key:$1"); then
    echo "ok $1 $printed"
  else
    echo "not ok $1 ${printed//$'\n'/ }"
    failed=1
  fi
}

# wait_gone KEY: waits until the key has expired, at most 10 s.
wait_gone() {
  local tries
  for ((tries = 0; tries < 200; tries++)); do
    [ "$(cli EXISTS "$1")" = 0 ] && return
    sleep 0.05
  done
  echo "$1 does not expire" && return 1
}

set_nx_px() {
  expect 'first SET' OK "$(cli SET "$1" me NX PX 500)" &&
    expect 'SET of a held lock' '' "$(cli SET "$1" you NX PX 500)" &&
    between TTL 0 "$(cli PTTL "$1")" 500 &&
    wait_gone "$1" &&
    expect 'SET after expiry' OK "$(cli SET "$1" you PX 30000 NX)" &&
    expect owner you "$(cli GET "$1")" &&
    expect DEL 1 "$(cli DEL "$1")"
}

eval_file() {
  cat > "$dir/unlock.lua" <<'LUA'
-- Deletes the lock of its owner only.
if redis.call('GET', KEYS[1]) == ARGV[1] then
  return redis.call('DEL', KEYS[1])
end
return 0
LUA
  expect SET OK "$(cli SET "$1" me NX PX 30000)" &&
    expect "stranger's unlock" 0 "$(cli --eval "$dir/unlock.lua" "$1" , you)" &&
    expect "owner's unlock" 1 "$(cli --eval "$dir/unlock.lua" "$1" , me)" &&
    expect 'unlock again' 0 "$(cli --eval "$dir/unlock.lua" "$1" , me)"
}

resp3() {
  expect HSET 2 "$(cli -3 HSET "$1" count 1 owner me)" &&
    expect 'a map in RESP3' $'1# "count" => "1"\n2# "owner" => "me"' "$(cli -3 --no-raw HGETALL "$1")" &&
    expect 'an array in RESP2' $'1) "count"\n2) "1"\n3) "owner"\n4) "me"' "$(cli -2 --no-raw HGETALL "$1")" &&
    expect PEXPIRE 1 "$(cli -3 PEXPIRE "$1" 30000)" &&
    expect null '(nil)' "$(cli -3 --no-raw GET "$1:missing")" &&
    expect 'wrong type' 'WRONGTYPE Operation against a key holding the wrong kind of value' "$(cli -3 GET "$1")"
}

pipe_mode() {
  local n=2000 i
  for ((i = 0; i < n; i++)); do
    printf 'SET %s:%d %d NX PX 30000\r\n' "$1" "$i" "$i"
  done > "$dir/pipe"
  local printed
  printed=$(cli --pipe < "$dir/pipe")
  expect 'last line' "errors: 0, replies: $n" "$(tail -n 1 <<< "$printed")" &&
    expect 'first key' 0 "$(cli GET "$1:0")" &&
    expect 'last key' $((n - 1)) "$(cli GET "$1:$((n - 1))")" &&
    echo "replies=$n"
}

# inline talks to the server without a client: a line is a command, several may be sent at once.
inline() {
  exec 3<> "/dev/tcp/$host/$port" || { echo "no connection" && return 1; }
  printf 'SET %s "my name" NX PX 30000\r\nGET %s\r\nSET %s you NX PX 30000\nPING\r\nQUIT\r\n' "$1" "$1" "$1" >&3
  expect replies '+OK $7 my name $-1 +PONG +OK ' "$(timeout 10 cat <&3 | tr -d '\r' | tr '\n' ' ')"
  local result=$?
  exec 3>&-
  return $result
}

# repeated runs one command many times on one connection.
repeated() {
  expect replies "$(seq 1 200)" "$(cli -r 200 INCR "$1")"
}

script_load() {
  local sha
  sha=$(cli SCRIPT LOAD "return {KEYS[1], ARGV[1]}")
  expect SHA1 40 "${#sha}" &&
    expect EVALSHA "$1"$'\nx' "$(cli EVALSHA "$sha" 1 "$1" x)" &&
    expect 'unknown SHA1' 'NOSCRIPT No matching script. Please use EVAL.' \
      "$(cli EVALSHA "${sha//[0-9a-f]/0}" 0)"
}

fence() {
  local first second
  expect 'token of a free key' '' "$(cli FENCE "$1")" &&
    expect SET OK "$(cli SET "$1" me NX PX 30000)" &&
    first=$(cli FENCE "$1") && between token 0 "$first" 9007199254740991 &&
    expect 'token of its owner' "$first" "$(cli FENCE "$1" me)" &&
    expect 'token of a stranger' '' "$(cli FENCE "$1" you)" &&
    expect PEXPIRE 1 "$(cli PEXPIRE "$1" 20000)" &&
    expect 'token after renewal' "$first" "$(cli FENCE "$1")" &&
    expect 'token in a script' "$first" "$(cli EVAL "return redis.call('FENCE', KEYS[1], 'me')" 1 "$1")" &&
    expect DEL 1 "$(cli DEL "$1")" &&
    expect SET OK "$(cli SET "$1" you NX PX 30000)" &&
    second=$(cli FENCE "$1") && between 'next token' "$first" "$second" 9007199254740991 &&
    echo "tokens=$first,$second"
}

fence_hash() {
  expect HSET 1 "$(cli HSET "$1" me 1)" &&
    between 'token of a field' 0 "$(cli FENCE "$1" me)" 9007199254740991 &&
    expect 'token of a stranger' '' "$(cli FENCE "$1" you)" &&
    expect DEL 1 "$(cli DEL "$1")"
}

fence_key() {
  expect 'companion of a free key' '' "$(cli GET "__fence__:$1")" &&
    expect SET OK "$(cli SET "$1" me NX PX 30000)" &&
    between token 0 "$(cli GET "__fence__:$1")" 9007199254740991 &&
    expect 'companion' "$(cli FENCE "$1")" "$(cli GET "__fence__:$1")" &&
    expect KEYS "$1" "$(cli KEYS "*$1*")"
}

set_fence() {
  local token
  token=$(cli SET "$1" me NX PX 30000 FENCE) && between token 0 "$token" 9007199254740991 &&
    expect 'a held lock' '(nil)' "$(cli --no-raw SET "$1" you NX PX 30000 FENCE)" &&
    expect FENCE "$token" "$(cli FENCE "$1" me)" &&
    echo "token=$token"
}

run set-nx-px set_nx_px
run eval-file eval_file
run resp3 resp3
run pipe-mode pipe_mode
run inline inline
run repeated repeated
run script-load script_load
if [ -n "$redfence" ]; then
  run fence fence
  run fence-hash fence_hash
  run fence-key fence_key
  run set-fence set_fence
fi
exit $failed
