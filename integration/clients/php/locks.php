<?php
declare(strict_types=1);

/** A way to lock, made usable by the cases. */
interface LockLibrary
{
    /** A user of locks, with a connection of its own. */
    public function user(): User;

    /** Cases that only this library has, by name. */
    public function cases(): array;

    /** What asks the server to forget its scripts does so for this library too. */
    public function forget(Redis $redis): void;
}

/** One user of locks. */
interface User
{
    /** Null when the lock is held. */
    public function tryAcquire(string $key, float $ttl): ?Held;

    /** Waits for the lock. */
    public function acquire(string $key, float $ttl): Held;
}

/** A lock that was taken; its methods tell whether it was still held. */
interface Held
{
    public function extend(float $ttl): bool;

    public function release(): bool;
}
