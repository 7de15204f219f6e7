<?php
// What every lock library must do.
declare(strict_types=1);

const PATIENCE_S = 20; // bound of every wait for something that is due at once

function that(bool $holds, string $message): void
{
    if (!$holds) {
        throw new RuntimeException($message);
    }
}

function eventually(string $what, callable $condition): void
{
    for ($deadline = microtime(true) + PATIENCE_S; !$condition(); usleep(5_000)) {
        that(microtime(true) < $deadline, "waited in vain: $what");
    }
}

/** Runs the body in a process of its own, with connections of its own; the answer waits for it and tells whether it ended well. */
function apart(callable $body): callable
{
    $child = pcntl_fork();
    if ($child === 0) {
        try {
            $body();
            $code = 0;
        } catch (Throwable $reason) {
            fwrite(STDERR, $reason . "\n");
            $code = 1;
        }
        posix_kill(getmypid(), $code === 0 ? SIGTERM : SIGKILL); // without the destructors of the parent's connections
    }
    return static function () use ($child): bool {
        pcntl_waitpid($child, $status);
        return pcntl_wifsignaled($status) && pcntl_wtermsig($status) === SIGTERM;
    };
}

/** A counter in a file that notices two users at once, and loses updates but for the lock. */
final class Guarded
{
    private string $path;

    public function __construct()
    {
        $this->path = tempnam(sys_get_temp_dir(), 'guarded');
        file_put_contents($this->path, '0');
    }

    public function use(): void
    {
        $file = fopen($this->path, 'r+');
        that(flock($file, LOCK_EX | LOCK_NB), 'two owners inside');
        $count = (int) file_get_contents($this->path);
        usleep(1_000);
        file_put_contents($this->path, (string) ($count + 1));
        flock($file, LOCK_UN);
        fclose($file);
    }

    public function count(): int
    {
        $count = (int) file_get_contents($this->path);
        unlink($this->path);
        return $count;
    }
}

function lockCases(LockLibrary $library, callable $connect): array
{
    [$alice, $bob, $inspect] = [$library->user(), $library->user(), $connect()];
    return [
        'acquire-release' => static function (string $key) use ($alice, $inspect): string {
            $held = $alice->acquire($key, 30);
            $ttl = $inspect->pttl($key);
            that($ttl > 0 && $ttl <= 31_000, "TTL of $ttl ms");
            that($held->release(), 'release by the owner');
            that(!$inspect->exists($key), 'the key is there after its release');
            return "ttl_ms=$ttl";
        },
        'held-is-refused' => static function (string $key) use ($alice, $bob): string {
            $held = $alice->acquire($key, 30);
            that($bob->tryAcquire($key, 30) === null, 'another owner got a held lock');
            that($held->release(), 'release after a refusal');
            $next = $bob->tryAcquire($key, 30);
            that($next !== null && $next->release(), 'not free after its release');
            return '';
        },
        'waits' => static function (string $key) use ($library, $alice, $inspect): string {
            $held = $alice->acquire($key, 30);
            $waiter = apart(static function () use ($library, $key): void {
                that($library->user()->acquire($key, 30)->release(), 'release by the waiter');
            });
            usleep(300_000); // long enough for the waiter to come in, if it can
            that($held->release(), 'release: the waiter came in before it');
            that($waiter(), 'the waiter failed');
            that(!$inspect->exists($key), 'the waiter did not let go');
            return '';
        },
        'extend' => static function (string $key) use ($alice, $bob, $inspect): string {
            $held = $alice->acquire($key, 10);
            that($held->extend(60), 'extension by the owner');
            $ttl = $inspect->pttl($key);
            that($ttl > 20_000 && $ttl <= 61_000, "TTL of $ttl ms after extending");
            that($bob->tryAcquire($key, 30) === null, 'another owner got an extended lock');
            that($held->release(), 'release after extending');
            return "ttl_ms=$ttl";
        },
        'extend-lost' => static function (string $key) use ($alice, $bob, $inspect): string {
            $held = $alice->acquire($key, 30);
            that($inspect->del($key) === 1, 'no key to delete');
            $next = $bob->tryAcquire($key, 30);
            that($next !== null, 'not free though its key was deleted');
            that(!$held->extend(60), 'a lost lock was extended');
            that($inspect->pttl($key) <= 31_000, 'a stranger extended the lock');
            that($next->release(), 'release by the next owner');
            return '';
        },
        'expiry' => static function (string $key) use ($alice, $bob): string {
            $start = microtime(true);
            $held = $alice->acquire($key, 1);
            $next = null;
            eventually('the lock expires', static function () use (&$next, $bob, $key): bool {
                return ($next = $bob->tryAcquire($key, 30)) !== null;
            });
            $waited = (int) ((microtime(true) - $start) * 1_000);
            that($waited >= 990, "another owner got the lock after $waited ms of 1000");
            that(!$held->release(), 'the former owner could let go');
            that($alice->tryAcquire($key, 30) === null, "the former owner's release took the lock away");
            that($next->release(), 'release by the next owner');
            return "next_owner_after_ms=$waited";
        },
        'script-flush' => static function (string $key) use ($library, $alice, $inspect): string {
            for ($i = 0; $i < 2; $i++) {
                $held = $alice->acquire($key, 30);
                $library->forget($inspect);
                that($held->extend(30), 'extension after SCRIPT FLUSH');
                $library->forget($inspect);
                that($held->release(), 'release after SCRIPT FLUSH');
            }
            return '';
        },
        'contention' => static function (string $key) use ($library): string {
            [$users, $rounds, $guarded, $all] = [5, 8, new Guarded(), []];
            for ($i = 0; $i < $users; $i++) {
                $all[] = apart(static function () use ($library, $key, $rounds, $guarded): void {
                    $user = $library->user();
                    for ($n = 0; $n < $rounds; $n++) {
                        $held = $user->acquire($key, 30);
                        $guarded->use();
                        that($held->release(), 'release by the owner');
                    }
                });
            }
            $ended = array_map(static fn (callable $wait): bool => $wait(), $all);
            $count = $guarded->count();
            that(!in_array(false, $ended, true), 'a user failed');
            that($count === $users * $rounds, "counter $count");
            return "grants=$count";
        },
    ];
}
