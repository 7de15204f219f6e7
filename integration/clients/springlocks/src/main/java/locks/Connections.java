package locks;

import java.util.List;
import org.springframework.beans.factory.DisposableBean;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.data.redis.connection.RedisSentinelConfiguration;
import org.springframework.data.redis.connection.RedisStandaloneConfiguration;
import org.springframework.data.redis.connection.jedis.JedisConnectionFactory;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;

/** What Spring makes of its settings: connections by Lettuce, or by Jedis with {@code --driver jedis}. */
final class Connections {
    private Connections() {
    }

    static RedisConnectionFactory open(Runner runner) {
        return runner.option("driver", "lettuce").equals("jedis") ? jedis(runner.server()) : lettuce(runner.server());
    }

    private static RedisConnectionFactory lettuce(Inspector.Server server) {
        LettuceConnectionFactory connections = server.sentinels().isEmpty()
            ? new LettuceConnectionFactory(new RedisStandaloneConfiguration(server.host(), server.port()))
            : new LettuceConnectionFactory(sentinels(server.sentinels()));
        connections.afterPropertiesSet();
        connections.start();
        return connections;
    }

    private static RedisConnectionFactory jedis(Inspector.Server server) {
        JedisConnectionFactory connections = server.sentinels().isEmpty()
            ? new JedisConnectionFactory(new RedisStandaloneConfiguration(server.host(), server.port()))
            : new JedisConnectionFactory(sentinels(server.sentinels()));
        connections.afterPropertiesSet();
        connections.start();
        return connections;
    }

    private static RedisSentinelConfiguration sentinels(List<String> addresses) {
        return new RedisSentinelConfiguration("mymaster", java.util.Set.copyOf(addresses));
    }

    static void close(RedisConnectionFactory connections) {
        try {
            ((DisposableBean) connections).destroy();
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }
}
