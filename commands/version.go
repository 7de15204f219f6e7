package commands

// RedisVersion is the version that the front end announces in HELLO and INFO. Clients choose their commands by it:
// from 8.4 on StackExchange.Redis takes and releases locks with SET IFEQ and DELEX, from 7.2 on clients send CLIENT
// SETINFO, below 6.2 BullMQ complains. Redfence serves what 7.2 has for locks.
const RedisVersion = "7.2.4"
