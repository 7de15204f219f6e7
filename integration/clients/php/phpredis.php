<?php
declare(strict_types=1);

/** Locks by hand as Laravel's cache does: SET NX EX, EVAL that compares the owner. Who waits tries again and again. */
final class PhpredisLocks implements LockLibrary
{
    public function __construct(private Closure $connect)
    {
    }

    public function user(): User
    {
        return new class (($this->connect)()) implements User {
            public function __construct(private Redis $redis)
            {
            }

            public function tryAcquire(string $key, float $ttl): ?Held
            {
                $owner = bin2hex(random_bytes(16));
                $taken = $this->redis->set($key, $owner, ['nx', 'ex' => (int) $ttl]);
                return $taken === true ? new PhpredisHeld($this->redis, $key, $owner) : null;
            }

            public function acquire(string $key, float $ttl): Held
            {
                while (($held = $this->tryAcquire($key, $ttl)) === null) {
                    usleep(5_000);
                }
                return $held;
            }
        };
    }

    public function forget(Redis $redis): void
    {
        that($redis->script('flush'), 'SCRIPT FLUSH');
    }

    public function cases(): array
    {
        return [
            'pipeline' => fn (string $key): string => $this->pipeline($key),
            'transaction' => fn (string $key): string => $this->transaction($key),
            'blocking' => fn (string $key): string => $this->blocking($key),
            'persistent' => fn (string $key): string => $this->persistent($key),
        ];
    }

    private function pipeline(string $key): string
    {
        $replies = ($this->connect)()->multi(Redis::PIPELINE)
            ->set($key, 'a', ['nx', 'px' => 30_000])->set($key, 'b', ['nx', 'px' => 30_000])->get($key)->del($key)->exec();
        that($replies === [true, false, 'a', 1], 'replies ' . json_encode($replies));
        return '';
    }

    private function transaction(string $key): string
    {
        [$mine, $other] = [($this->connect)(), ($this->connect)()];
        $mine->set($key, 'mine', ['nx', 'px' => 30_000]);
        $mine->watch($key);
        $other->set($key, 'stolen', ['px' => 30_000]);
        that($mine->multi()->del($key)->exec() === false, 'a watched lock was deleted though it had changed');
        $mine->watch($key);
        that($mine->multi()->del($key)->exec() === [1], 'a watched lock was not deleted');
        return '';
    }

    private function blocking(string $key): string
    {
        $waiter = apart(function () use ($key): void {
            that(($this->connect)()->blPop([$key], 20) === [$key, 'free'], 'token');
        });
        usleep(100_000); // so that it blocks, mostly
        $redis = ($this->connect)();
        that($redis->lPush($key, 'free') > 0, 'LPUSH');
        that($waiter(), 'the waiter failed');
        that($redis->blPop([$key], 1) === [], 'a token that is not there');
        return '';
    }

    /** A pool of persistent connections asks by ECHO whether one is alive. */
    private function persistent(string $key): string
    {
        $first = ($this->connect)();
        [$host, $port] = [$first->getHost(), $first->getPort()];
        for ($i = 0; $i < 3; $i++) {
            $redis = new Redis();
            that($redis->pconnect($host, $port), 'no connection');
            that($redis->set($key, (string) $i, ['px' => 30_000]) === true, 'SET');
            that($redis->echo("life $i") === "life $i", 'ECHO');
            $redis->close();
        }
        that($first->get($key) === '2', 'the last value');
        return '';
    }
}

final class PhpredisHeld implements Held
{
    private const EXTEND = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('expire', KEYS[1], ARGV[2]) end return 0";
    private const RELEASE = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0";

    public function __construct(private Redis $redis, private string $key, private string $owner)
    {
    }

    public function extend(float $ttl): bool
    {
        return $this->redis->eval(self::EXTEND, [$this->key, $this->owner, (int) $ttl], 1) === 1;
    }

    public function release(): bool
    {
        return $this->redis->eval(self::RELEASE, [$this->key, $this->owner], 1) === 1;
    }
}
