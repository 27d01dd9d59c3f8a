import { Command } from 'commander';
import { usualEndpoints, usualLimits } from '../../core/batch.ts';
import { cleanLine } from '../terminal/clean-text.ts';
import type { Cli } from '../shared/cli.ts';
import { examples } from '../shared/commands.ts';
import { exitCodes } from '../shared/exit-codes.ts';
import { existingFile } from '../shared/local-file.ts';
import { formatFault } from '../shared/report.ts';

export function filesValidate(cli: Cli): Command {
  return new Command('validate')
    .description('check a JSONL file of requests without a server; exits 2 when lines are bad')
    .argument('<file>')
    .option('--json', 'print JSON')
    .addHelpText('after', examples('in.jsonl'))
    .action(async (file: string, options: { json?: boolean }) => {
      const { terminal } = cli;
      const { checkFile } = await import('./check-file.ts');
      const verdict = await checkFile(existingFile(file, cli.cwd), usualLimits);
      if (!verdict.valid) cli.exitCode = exitCodes.linesFailed;
      if (options.json === true) {
        const { estimatedTokens, faultCount, namesFiles, ...rest } = verdict;
        return terminal.json({
          ...rest,
          names_files: namesFiles,
          estimated_tokens: estimatedTokens,
          fault_count: faultCount,
        });
      }
      if (verdict.valid) {
        const { requests, endpoint, estimatedTokens } = verdict;
        terminal.print(
          `${terminal.paint('green', 'Valid:')} ${requests} requests to ${endpoint ?? ''}, at most about ${estimatedTokens} tokens (prompts estimated, and the most that each answer may have).`,
        );
        terminal.note('Whether its models exist, only a server can tell.');
        if (!usualEndpoints.some((name) => name === endpoint))
          terminal.note(
            `Batches of ${endpoint ?? ''} run where batch.endpoints of the configuration opens them.`,
          );
        if (verdict.namesFiles)
          terminal.note(
            'Files are named, which a server takes where files.purposes of its configuration opens that.',
          );
        return;
      }
      terminal.print(
        `${terminal.paint('red', 'Not valid:')} ${verdict.faultCount} faults in ${verdict.requests} requests.`,
      );
      for (const fault of verdict.faults) terminal.print(`  ${cleanLine(formatFault(fault))}`);
      const more = verdict.faultCount - verdict.faults.length;
      if (more > 0) terminal.print(`  ... and ${more} more`);
    });
}
