<?php
declare(strict_types=1);

use Symfony\Component\Lock\Exception\ExceptionInterface;
use Symfony\Component\Lock\LockFactory;
use Symfony\Component\Lock\LockInterface;
use Symfony\Component\Lock\Store\RedisStore;

$autoload = stream_resolve_include_path('Symfony/Component/Lock/autoload.php');
if ($autoload !== false) {
    require_once $autoload;
}

/** Symfony Lock, whose RedisStore keeps a lock as a sorted set, with times that the server tells. Who waits tries again and again. */
final class SymfonyLocks implements LockLibrary
{
    public function __construct(private Closure $connect)
    {
    }

    public function user(): User
    {
        $factory = new LockFactory(new RedisStore(($this->connect)()));
        return new class ($factory) implements User {
            public function __construct(private LockFactory $factory)
            {
            }

            public function tryAcquire(string $key, float $ttl): ?Held
            {
                $lock = $this->factory->createLock($key, $ttl, false);
                return $lock->acquire() ? new SymfonyHeld($lock) : null;
            }

            public function acquire(string $key, float $ttl): Held
            {
                $lock = $this->factory->createLock($key, $ttl, false);
                that($lock->acquire(true), 'waited, and did not get the lock');
                return new SymfonyHeld($lock);
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
            'readers-and-writer' => fn (string $key): string => $this->readersAndWriter($key),
            'reader-becomes-writer' => fn (string $key): string => $this->readerBecomesWriter($key),
            'own-again' => fn (string $key): string => $this->ownAgain($key),
        ];
    }

    /** @return LockInterface[] two locks of one name, of different clients */
    private function two(string $key): array
    {
        $make = fn (): LockInterface => (new LockFactory(new RedisStore(($this->connect)())))->createLock($key, 30, false);
        return [$make(), $make()];
    }

    private function readersAndWriter(string $key): string
    {
        [$one, $two] = $this->two($key);
        [$writer] = $this->two($key);
        that($one->acquireRead() && $two->acquireRead(), 'two readers');
        that(!$writer->acquire(), 'a writer among readers');
        $one->release();
        that(!$writer->acquire(), 'a writer beside the other reader');
        $two->release();
        that($writer->acquire(), 'no writer though the readers are gone');
        that(!$one->acquireRead(), 'a reader beside the writer');
        $writer->release();
        that($one->acquireRead(), 'no reader though the writer is gone');
        $one->release();
        return '';
    }

    private function readerBecomesWriter(string $key): string
    {
        [$one, $two] = $this->two($key);
        that($one->acquireRead() && $two->acquireRead(), 'two readers');
        that(!$one->acquire(), 'a reader became the writer beside another');
        $two->release();
        that($one->acquire(), 'the only reader could not become the writer');
        that(!$two->acquireRead(), 'a reader beside the writer');
        $one->release();
        return '';
    }

    /** A lock that is acquired again by its owner goes on. */
    private function ownAgain(string $key): string
    {
        [$one, $two] = $this->two($key);
        that($one->acquire() && $one->acquire() && $one->isAcquired(), 'acquired twice');
        that(!$two->isAcquired(), 'a stranger counts as owner');
        $one->release();
        that(!$one->isAcquired(), 'held after its release');
        return '';
    }
}

final class SymfonyHeld implements Held
{
    public function __construct(private LockInterface $lock)
    {
    }

    public function extend(float $ttl): bool
    {
        try {
            $this->lock->refresh($ttl);
            return true;
        } catch (ExceptionInterface) {
            return false;
        }
    }

    /** The library deletes what is its own, and tells nothing of what is not. */
    public function release(): bool
    {
        $held = $this->lock->isAcquired();
        $this->lock->release();
        return $held;
    }
}
