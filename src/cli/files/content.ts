import type { Command } from 'commander';
import { sleep } from '../../base/clock.ts';
import type { Cli, ClientOptions } from '../shared/cli.ts';
import { clientCommand, examples } from '../shared/commands.ts';
import { connect } from '../shared/connect.ts';
import { createOutageTimer } from '../shared/outage.ts';
import { type OutputOptions, withOutput, writeOut } from '../storage/write-out.ts';

const retryPauseMs = 1_000;

export function content(cli: Cli): Command {
  return withOutput(clientCommand('content', 'print the content of a file').argument('<id>'))
    .addHelpText('after', examples('file-0199f3a2 -o copy.jsonl'))
    .action(async (id: string, options: ClientOptions & OutputOptions) =>
      writeOut(download(cli, id, options), options, cli),
    );
}

/** Content of a file. After a broken connection, the download resumes behind the last byte. */
async function* download(
  cli: Cli,
  id: string,
  options: ClientOptions & OutputOptions,
): AsyncGenerator<Uint8Array> {
  const { clock, terminal } = cli;
  const { files } = connect(cli, options);
  const outage = createOutageTimer({ clock, note: (text) => terminal.note(text) });
  let received = 0;
  for (;;) {
    try {
      const { bytes, size, start } = await files.content(id, received);
      let skipped = received - start;
      for await (const chunk of bytes) {
        const rest = chunk.subarray(skipped);
        skipped -= chunk.length - rest.length;
        received += rest.length;
        if (rest.length > 0) yield rest;
        outage.answered();
      }
      if (size === null || received >= size) return;
    } catch (error) {
      // The first answer shows a wrong address or key.
      if (received === 0) throw error;
      outage.failed(error);
      await sleep(clock, retryPauseMs);
    }
  }
}
