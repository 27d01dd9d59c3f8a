// Loaded into server processes that tests start (`--import`): the IPC channel closes when the test process ends for any
// reason, and the server must not outlive it.
process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'));
process.channel?.unref();
