#!/usr/bin/env bash
# Builds the client programs: downloads what they need, once, and skips what is up to date.
# Usage: build.sh [CLIENT...], by default those of the gate, or all with REDFENCE_LONG=1
# A program whose tool is missing is skipped with the reason. The exit code is 1 when a build failed.
set -u
shopt -s nullglob
cd "$(dirname "$0")" || exit 1
clients=("$@")
[ $# -gt 0 ] || clients=(redisson jvm spring python golang node rediscli)
[ $# -gt 0 ] || [ "${REDFENCE_LONG-}" != 1 ] || clients+=(redisson316 redisson327 springlocks springlocks7 php ruby rust)

# Only downloads are tried again: three times in all.
retry() {
  local try
  for try in 1 2 3; do
    "$@" && return
    echo "try $try failed: $*" >&2
  done
  return 1
}

# fresh CLIENT TARGET INPUT...: tells whether the target is newer than all its inputs.
fresh() {
  local name=$1 target=$2
  shift 2
  [ -e "$target" ] && [ -z "$(find "$@" -newer "$target" -print -quit)" ] && echo "$name: up to date"
}

# missing CLIENT TOOL: tells whether a tool is missing.
missing() {
  command -v "$2" > /dev/null && return 1
  echo "$1: skipped, $2 is not installed"
}

build_redisson() { build_maven redisson java; }
build_redisson316() { build_maven redisson316; }
build_redisson327() { build_maven redisson327; }
build_jvm() { build_maven jvm java; }
build_spring() { build_maven spring java; }
build_springlocks7() { build_maven springlocks7; }
build_springlocks() { build_maven springlocks java jvm/src; }

# build_maven CLIENT [SOURCES THAT IT SHARES...]
build_maven() {
  missing "$1" java || missing "$1" mvn || fresh "$1" "$1/target/built" pom.xml "$1"/pom.xml "$1"/src* "${@:2}" && return
  rm -rf "$1/target"
  # Without the network first: what was downloaded once is not asked for again.
  { mvn -q -B -o -f "$1/pom.xml" process-classes > /dev/null 2>&1 ||
    retry mvn -q -B -f "$1/pom.xml" process-classes; } && touch "$1/target/built" && echo "$1: built"
}

build_python() {
  missing python python3 || fresh python python/.venv/built python/requirements.txt && return
  rm -rf python/.venv
  if ! python3 -m venv python/.venv; then
    echo "python: skipped, python3 has no venv module" && return
  fi
  retry python/.venv/bin/python -m pip install -q --disable-pip-version-check -r python/requirements.txt &&
    touch python/.venv/built && echo "python: built"
}

build_golang() {
  missing golang go && return
  (cd golang && retry go mod download && go build -o target/suite .) && echo "golang: built"
}

build_node() {
  missing node node || missing node npm && return
  if ! node -e 'process.exit(process.versions.node.split(".")[0] >= 20 ? 0 : 1)'; then
    echo "node: skipped, node $(node --version) is older than 20" && return
  fi
  fresh node node/node_modules/built node/package.json node/package-lock.json && return
  # The lock file names versions and checksums but no registry (.npmrc), so any registry will do.
  retry npm --prefix node ci --no-audit --no-fund --loglevel=error > /dev/null &&
    touch node/node_modules/built && echo "node: built"
}

build_php() {
  missing php php && return
  if ! php -r 'exit(extension_loaded("redis") && stream_resolve_include_path("Symfony/Component/Lock/autoload.php") ? 0 : 1);'; then
    echo "php: skipped, phpredis or Symfony Lock is not installed" && return
  fi
  echo "php: nothing to build"
}

build_ruby() {
  missing ruby ruby && return
  if ! ruby -r redis -e 0 2> /dev/null; then
    echo "ruby: skipped, redis-rb is not installed" && return
  fi
  echo "ruby: nothing to build"
}

build_rust() {
  missing rust cargo || fresh rust rust/target/built rust/Cargo.toml rust/src && return
  retry cargo build --quiet --release --manifest-path rust/Cargo.toml && touch rust/target/built && echo "rust: built"
}

build_rediscli() {
  missing rediscli redis-cli || echo "rediscli: nothing to build"
}

code=0
for client in "${clients[@]}"; do
  case $client in
    redisson | redisson316 | redisson327 | jvm | spring | springlocks | springlocks7 | php | ruby | rust | python | golang | node | rediscli) "build_$client" || { echo "$client: build failed" >&2 && code=1; } ;;
    *) echo "no such client: $client" >&2 && exit 2 ;;
  esac
done
exit $code
