package locks;

import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.api.sync.RedisCommands;
import java.util.List;

/** A plain client beside the library: it looks at what the library keeps in the server. */
final class Inspector {
    private final RedisCommands<String, String> redis;

    Inspector(Server server) {
        redis = RedisClient.create(uri(server)).connect().sync();
    }

    /** How Lettuce is told of a server. */
    static RedisURI uri(Server server) {
        if (server.sentinels().isEmpty()) {
            return RedisURI.create(server.host(), server.port());
        }
        return RedisURI.create("redis-sentinel://" + String.join(",", server.sentinels()) + "#mymaster");
    }

    RedisCommands<String, String> commands() {
        return redis;
    }

    boolean exists(String key) {
        return redis.exists(key) == 1;
    }

    long pttl(String key) {
        return redis.pttl(key);
    }

    long subscribers(String channel) {
        return redis.pubsubNumsub(channel).get(channel);
    }

    /** What is at an address, or behind Sentinels. */
    record Server(String addr, List<String> sentinels) {
        String host() {
            return addr.substring(0, addr.lastIndexOf(':'));
        }

        int port() {
            return Integer.parseInt(addr.substring(addr.lastIndexOf(':') + 1));
        }
    }
}
