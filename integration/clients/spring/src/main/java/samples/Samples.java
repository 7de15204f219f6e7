package samples;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import org.redisson.Redisson;
import org.redisson.RedissonMultiLock;
import org.redisson.RedissonRedLock;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;
import org.redisson.spring.starter.RedissonAutoConfigurationV2;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.WebApplicationType;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.data.redis.core.StringRedisTemplate;

/**
 * Runs the Java samples of docs/samples.md against the server at {@code --addr host:port}, or the master that {@code --sentinels
 * host:port,...} name: a line for each, as the other programs print.
 */
public final class Samples {
    /** How long a lock of Redisson without a lease lives unless its client renews it, in ms. */
    private static final long WATCHDOG_MS = 3_000;
    private static final int CLIENTS = 5;

    private final Server server;
    private boolean failed;

    private Samples(Server server) {
        this.server = server;
    }

    public static void main(String[] args) {
        if (args.length != 2 || !List.of("--addr", "--sentinels").contains(args[0])) {
            throw new IllegalArgumentException("usage: --addr host:port | --sentinels host:port,...");
        }
        Samples samples = new Samples(args[0].equals("--addr") ? Server.at(args[1]) : Server.namedBy(args[1].split(",")));
        samples.run("set-if-absent", samples::setIfAbsent);
        samples.run("string-reentry", samples::stringReentry);
        samples.run("starter-try-lock", samples::starterTryLock);
        samples.run("red-lock-once", samples::redLockOnce);
        samples.run("red-lock-five-times", samples::redLockFiveTimes);
        samples.run("multi-lock-five-clients", samples::multiLockFiveClients);
        System.exit(samples.failed ? 1 : 0);
    }

    private void run(String name, Callable<String> body) {
        try {
            System.out.println("ok " + name + " " + body.call());
        } catch (Throwable t) {
            failed = true;
            System.out.println("not ok " + name + " " + t.toString().replace('\n', ' '));
            t.printStackTrace();
        }
    }

    private static void check(boolean holds, String what) {
        if (!holds) {
            throw new IllegalStateException(what);
        }
    }

    private static String freshKey() {
        return "lock:" + UUID.randomUUID();
    }

    private StringRedisTemplate template() {
        LettuceConnectionFactory connections = server.lettuce();
        connections.afterPropertiesSet();
        connections.start();
        return new StringRedisTemplate(connections);
    }

    private String setIfAbsent() {
        StringLock lock = new StringLock(template());
        String key = freshKey();
        check(lock.tryLock(key, "a"), "a free lock is not granted");
        check(!lock.tryLock(key, "b"), "a held lock is granted");
        check(!lock.unlock(key, "b"), "somebody else's lock is released");
        check(lock.unlock(key, "a"), "the owner cannot release");
        check(lock.tryLock(key, "b"), "a released lock is not granted");
        return "";
    }

    private String stringReentry() {
        StringLock lock = new StringLock(template());
        String key = freshKey();
        check(lock.enter(key, "a") == 1 && lock.enter(key, "a") == 2, "the owner cannot enter twice");
        check(lock.enter(key, "b") == 0, "somebody else enters");
        check(lock.leave(key, "b") == -1, "somebody else leaves");
        check(lock.leave(key, "a") == 1 && lock.enter(key, "b") == 0, "the lock is free though the owner is inside once");
        check(lock.leave(key, "a") == 0 && lock.enter(key, "b") == 1, "the lock is not free though the owner has left");
        return "";
    }

    /** What redisson-spring-boot-starter makes of application.yaml. */
    private ConfigurableApplicationContext application() {
        SpringApplication application = new SpringApplication(RedissonAutoConfigurationV2.class);
        application.setWebApplicationType(WebApplicationType.NONE);
        return application.run("--spring.main.banner-mode=off", "--logging.level.root=warn", "--spring.redis.redisson.config="
                + "lockWatchdogTimeout: " + WATCHDOG_MS + "\n" + server.redissonYaml());
    }

    private String starterTryLock() throws InterruptedException {
        try (ConfigurableApplicationContext one = application(); ConfigurableApplicationContext two = application()) {
            String key = freshKey();
            RLock lock = one.getBean(RedissonClient.class).getLock(key);
            RLock other = two.getBean(RedissonClient.class).getLock(key);
            check(lock.tryLock(0, -1, TimeUnit.MILLISECONDS), "a free lock is not granted");
            for (long end = System.nanoTime() + Duration.ofMillis(2 * WATCHDOG_MS).toNanos(); System.nanoTime() < end;) {
                check(!other.tryLock(0, -1, TimeUnit.MILLISECONDS), "a lock that its owner renews is granted");
                TimeUnit.MILLISECONDS.sleep(50); // a program that comes again and again
            }
            lock.unlock();
            check(other.tryLock(0, -1, TimeUnit.MILLISECONDS), "a released lock is not granted");
            other.unlock();
            return "";
        }
    }

    private List<RedissonClient> clients(int n) {
        List<RedissonClient> clients = new ArrayList<>();
        for (int i = 0; i < n; i++) {
            Config config = new Config();
            server.configure(config);
            clients.add(Redisson.create(config));
        }
        return clients;
    }

    private static RLock[] locks(List<RedissonClient> clients, String key) {
        return clients.stream().map(client -> client.getLock(key)).toArray(RLock[]::new);
    }

    private String redLockOnce() throws InterruptedException {
        List<RedissonClient> clients = clients(2);
        String key = freshKey();
        RLock lock = new RedissonRedLock(clients.get(0).getLock(key));
        RLock other = new RedissonRedLock(clients.get(1).getLock(key));
        check(lock.tryLock(1_000, 30_000, TimeUnit.MILLISECONDS), "a free lock is not granted");
        check(!other.tryLock(200, 30_000, TimeUnit.MILLISECONDS), "a held lock is granted");
        lock.unlock();
        check(other.tryLock(1_000, 30_000, TimeUnit.MILLISECONDS), "a released lock is not granted");
        other.unlock();
        clients.forEach(RedissonClient::shutdown);
        return "";
    }

    /** Each client is an owner of its own, so the first excludes the other four, and no majority comes together. */
    private String redLockFiveTimes() throws InterruptedException {
        List<RedissonClient> clients = clients(CLIENTS);
        String key = freshKey();
        RLock lock = new RedissonRedLock(locks(clients, key));
        check(!lock.tryLock(1_000, 30_000, TimeUnit.MILLISECONDS), "one server gave the same lock to three clients");
        check(!clients.get(0).getLock(key).isLocked(), "what the attempt took is not given back");
        clients.forEach(RedissonClient::shutdown);
        return "";
    }

    /** Five locks of different names, each through a client of its own: all or none. */
    private String multiLockFiveClients() throws InterruptedException {
        List<RedissonClient> clients = clients(CLIENTS);
        String key = freshKey();
        RLock[] all = new RLock[CLIENTS];
        for (int i = 0; i < CLIENTS; i++) {
            all[i] = clients.get(i).getLock(key + ":" + i);
        }
        RLock lock = new RedissonMultiLock(all);
        check(lock.tryLock(1_000, 30_000, TimeUnit.MILLISECONDS), "free locks are not granted");
        RLock one = clients.get(1).getLock(key + ":0");
        check(!one.tryLock(0, 30_000, TimeUnit.MILLISECONDS), "one of the locks is free");
        lock.unlock();
        check(one.tryLock(0, 30_000, TimeUnit.MILLISECONDS), "one of the locks is still held");
        check(!lock.tryLock(200, 30_000, TimeUnit.MILLISECONDS), "all are granted though one is held");
        check(!clients.get(4).getLock(key + ":4").isLocked(), "what the attempt took is not given back");
        clients.forEach(RedissonClient::shutdown);
        return "";
    }
}
