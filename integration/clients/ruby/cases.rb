# frozen_string_literal: true

# What a lock must do, and what the client does besides.
class Cases
  LEASE_MS = 30_000
  PATIENCE_S = 20

  def initialize(connect)
    @connect = connect
    @alice = User.new(connect)
    @bob = User.new(connect)
    @inspect = connect.call
  end

  def all
    %w[acquire-release held-is-refused waits extend extend-lost expiry script-flush contention
       pub-sub pipeline transaction].to_h { |name| [name, method(name.tr('-', '_'))] }
  end

  private

  def that(holds, message)
    raise message unless holds
  end

  def acquire_release(key)
    held = @alice.acquire(key, LEASE_MS)
    ttl = @inspect.pttl(key)
    that ttl.positive? && ttl <= LEASE_MS, "TTL of #{ttl} ms"
    that @alice.release(held), 'release by the owner'
    that !@inspect.exists?(key), 'the key is there after its release'
    "ttl_ms=#{ttl}"
  end

  def held_is_refused(key)
    held = @alice.acquire(key, LEASE_MS)
    that @bob.try_acquire(key, LEASE_MS).nil?, 'another owner got a held lock'
    that @alice.release(held), 'release after a refusal'
    held = @bob.try_acquire(key, LEASE_MS)
    that held && @bob.release(held), 'not free after its release'
  end

  def waits(key)
    held = @alice.acquire(key, LEASE_MS)
    waiter = Thread.new { @bob.acquire(key, LEASE_MS) }
    that waiter.join(0.3).nil?, 'another owner got a held lock'
    @alice.release(held)
    that waiter.join(PATIENCE_S), 'waits for ever'
    that @bob.release(waiter.value), 'release by the waiter'
  end

  def extend(key)
    held = @alice.acquire(key, 10_000)
    that @alice.extend(held, 60_000), 'extension by the owner'
    ttl = @inspect.pttl(key)
    that ttl > 20_000 && ttl <= 60_000, "TTL of #{ttl} ms after extending"
    that @bob.try_acquire(key, LEASE_MS).nil?, 'another owner got an extended lock'
    that @alice.release(held), 'release after extending'
    "ttl_ms=#{ttl}"
  end

  def extend_lost(key)
    held = @alice.acquire(key, LEASE_MS)
    that @inspect.del(key) == 1, 'no key to delete'
    other = @bob.try_acquire(key, LEASE_MS)
    that other, 'not free though its key was deleted'
    that !@alice.extend(held, 60_000), 'a lost lock was extended'
    that @inspect.pttl(key) <= LEASE_MS, 'a stranger extended the lock'
    that @bob.release(other), 'release by the next owner'
  end

  def expiry(key)
    start = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    held = @alice.acquire(key, 1_000)
    other = @bob.acquire(key, LEASE_MS)
    waited = ((Process.clock_gettime(Process::CLOCK_MONOTONIC) - start) * 1_000).to_i
    that waited >= 990, "another owner got the lock after #{waited} ms of 1000"
    that !@alice.release(held), 'the former owner could let go'
    that @alice.try_acquire(key, LEASE_MS).nil?, "the former owner's release took the lock away"
    that @bob.release(other), 'release by the next owner'
    "next_owner_after_ms=#{waited}"
  end

  def script_flush(key)
    2.times do
      held = @alice.acquire(key, LEASE_MS)
      @inspect.script(:flush)
      that @alice.extend(held, LEASE_MS), 'extension after SCRIPT FLUSH'
      @inspect.script(:flush)
      that @alice.release(held), 'release after SCRIPT FLUSH'
    end
    nil
  end

  def contention(key)
    users = 5
    rounds = 8
    inside = Mutex.new
    count = 0
    Array.new(users) do
      Thread.new do
        user = User.new(@connect)
        rounds.times do
          held = user.acquire(key, LEASE_MS)
          that inside.try_lock, 'two owners inside'
          seen = count
          sleep 0.001
          count = seen + 1
          inside.unlock
          that user.release(held), 'release by the owner'
        end
      end
    end.each(&:join)
    that count == users * rounds, "counter #{count}"
    "grants=#{count}"
  end

  def pub_sub(key)
    ready = Queue.new
    listener = Thread.new do
      heard = nil
      redis = @connect.call
      redis.subscribe(key) do |on|
        on.subscribe { ready << true }
        on.message do |_, text|
          heard = text
          redis.unsubscribe
        end
      end
      [heard, redis.ping]
    end
    ready.pop
    that @inspect.publish(key, 'free') == 1, 'receivers'
    that listener.value == %w[free PONG], "heard #{listener.value}"
  end

  def pipeline(key)
    replies = @inspect.pipelined do |p|
      p.set(key, 'a', nx: true, px: LEASE_MS)
      p.set(key, 'b', nx: true, px: LEASE_MS)
      p.get(key)
      p.del(key)
    end
    that replies == [true, false, 'a', 1], "replies #{replies}"
  end

  def transaction(key)
    mine = @connect.call
    mine.set(key, 'mine', nx: true, px: LEASE_MS)
    mine.watch(key)
    @inspect.set(key, 'stolen', px: LEASE_MS)
    that mine.multi { |t| t.del(key) }.nil?, 'a watched lock was deleted though it had changed'
    mine.watch(key)
    that mine.multi { |t| t.del(key) } == [1], 'a watched lock was not deleted'
  end
end
