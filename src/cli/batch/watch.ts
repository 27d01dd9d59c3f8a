import type { Command } from 'commander';
import { isFinal } from '../../core/batch.ts';
import { follow } from './follow.ts';
import { exitCodeOf } from './outcome.ts';
import { createProgress, noProgress } from './progress.ts';
import { showBatch } from './show-batch.ts';
import { clientCommand, examples, tell } from '../shared/commands.ts';
import { connect } from '../shared/connect.ts';
import type { Cli, ClientOptions } from '../shared/cli.ts';
import { exitCodes } from '../shared/exit-codes.ts';

export function batchWatch(cli: Cli): Command {
  return clientCommand('watch', 'wait until a batch is done, showing its progress')
    .argument('<id>')
    .addHelpText('after', examples('batch_0199f3a2'))
    .action(async (id: string, options: ClientOptions) => {
      const client = connect(cli, options);
      const progress = options.json === true ? noProgress : createProgress(cli.terminal, cli.clock);
      const stop = new AbortController();
      const release = cli.onInterrupt(() => stop.abort());
      try {
        const seen = await client.batches.get(id);
        const batch = await follow(seen, { client, clock: cli.clock, progress, signal: stop.signal });
        progress.stop();
        cli.exitCode = isFinal(batch.status) ? exitCodeOf(batch) : exitCodes.interrupted;
        tell(cli, options, batch, showBatch);
      } finally {
        progress.stop();
        release();
      }
    });
}
