// Loaded into server processes that tests start (`--import`): when the test process is gone, however it went, the channel
// to it closes, and nothing must be left running.
process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'));
process.channel?.unref();
