# frozen_string_literal: true

# Locks by hand with redis-rb against the server at --addr, or the master that --sentinels name, in named cases: SET NX PX,
# scripts by their digest that compare the owner, BLPOP on what a release leaves.
#
# Options: --addr host:port or --sentinels host:port,..., --case NAME for one case only. Prints one line per case,
# "ok NAME DETAILS" or "not ok NAME REASON"; the exit code is 1 when any case failed.

require 'digest'
require 'optparse'
require 'redis'
require 'securerandom'
require 'timeout'
require_relative 'cases'

# A user of locks, with a connection of its own.
class User
  EXTEND = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('pexpire', KEYS[1], ARGV[2]) end return 0"
  RELEASE = <<~LUA
    if redis.call('get', KEYS[1]) ~= ARGV[1] then return 0 end
    redis.call('del', KEYS[1], KEYS[2])
    redis.call('lpush', KEYS[2], 'free')
    redis.call('pexpire', KEYS[2], 1000)
    return 1
  LUA
  Held = Struct.new(:key, :owner)

  def initialize(connect)
    @redis = connect.call
  end

  # nil when the lock is held
  def try_acquire(key, ttl_ms)
    owner = SecureRandom.uuid
    @redis.set(key, owner, nx: true, px: ttl_ms) ? Held.new(key, owner) : nil
  end

  # Waits for the lock: for a token that a release leaves, or for the end of its lease.
  def acquire(key, ttl_ms)
    until (held = try_acquire(key, ttl_ms))
      @redis.blpop("#{key}:free", timeout: 1)
    end
    held
  end

  def extend(held, ttl_ms)
    evaluate(EXTEND, [held.key], [held.owner, ttl_ms]) == 1
  end

  def release(held)
    evaluate(RELEASE, [held.key, "#{held.key}:free"], [held.owner]) == 1
  end

  private

  def evaluate(script, keys, argv)
    @redis.evalsha(Digest::SHA1.hexdigest(script), keys: keys, argv: argv)
  rescue Redis::CommandError => e
    raise unless e.message.start_with?('NOSCRIPT')

    @redis.eval(script, keys: keys, argv: argv)
  end
end

options = {}
OptionParser.new do |o|
  o.on('--addr ADDR') { |v| options[:addr] = v }
  o.on('--sentinels LIST') { |v| options[:sentinels] = v.split(',') }
  o.on('--case NAME') { |v| options[:case] = v }
end.parse!

connect = lambda do
  next Redis.new(url: "redis://#{options[:addr]}") unless options[:sentinels]

  sentinels = options[:sentinels].map { |s| s.split(':') }.map { |host, port| { host: host, port: port.to_i } }
  Redis.new(url: 'redis://mymaster', sentinels: sentinels, role: :master)
end

passed = Cases.new(connect).all.map do |name, body|
  next true if options[:case] && options[:case] != name

  begin
    details = Timeout.timeout(60) { body.call("ruby:#{SecureRandom.uuid}") }
    puts "ok #{name} #{details}"
    true
  rescue StandardError => e
    puts "not ok #{name} #{e.class}: #{e.message.tr("\n", ' ')}"
    warn e.full_message
    false
  end
end
exit passed.all?
