import { Command } from 'commander';
import { defaultEndpoints, defaultLimits } from '../../core/batch.ts';
import { cleanLine } from '../terminal/clean-text.ts';
import type { Cli } from '../shared/cli.ts';
import { examples, wholeNumber } from '../shared/commands.ts';
import { exitCodes } from '../shared/exit-codes.ts';
import { pluralize } from '../../base/words.ts';
import { withLocalInput } from '../storage/local-input.ts';
import { showWarnings } from '../shared/format.ts';
import { formatFault } from '../shared/report.ts';

interface Options {
  json?: boolean;
  maxRequests?: number;
  maxBytes?: number;
  strictFields?: boolean;
}

export function filesValidate(cli: Cli): Command {
  return new Command('validate')
    .description('validate a JSONL file of requests without a server; exits 2 for invalid lines')
    .argument('<file>')
    .option(
      '--max-requests <n>',
      'maximum number of requests, as limits.requests_per_batch of the server',
      wholeNumber('--max-requests', 1, 1_000_000),
    )
    .option(
      '--max-bytes <n>',
      'maximum size in bytes, as limits.bytes_per_batch of the server',
      wholeNumber('--max-bytes', 1, 2 ** 30),
    )
    .option('--strict-fields', 'treat unknown fields, such as misspelt parameters, as faults')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      '\nWithout these limits, a file of any size is valid, because batch run splits large files.',
    )
    .addHelpText('after', examples('in.jsonl', 'in.jsonl --max-requests 10000 --max-bytes 33554432'))
    .action(async (file: string, options: Options) => {
      const { terminal } = cli;
      const { checkFile } = await import('./check-file.ts');
      const { maxRequests, maxBytes, strictFields: isStrict = false } = options;
      const { lineBytes } = defaultLimits;
      const limits = { requests: maxRequests, bytes: maxBytes, lineBytes, isStrict };
      const verdict = await withLocalInput(cli, file, (path) => checkFile(path, limits));
      if (!verdict.valid) cli.exitCode = exitCodes.linesFailed;
      if (options.json === true) {
        const { estimatedTokens, faultCount, badLines, namesFiles, namesImageUrls, ...rest } = verdict;
        return terminal.json({
          ...rest,
          names_files: namesFiles,
          names_image_urls: namesImageUrls,
          estimated_tokens: estimatedTokens,
          fault_count: faultCount,
          bad_lines: badLines,
        });
      }
      if (verdict.valid) {
        const { requests, endpoint, estimatedTokens, bytes } = verdict;
        terminal.print(
          `${terminal.paint('green', 'Valid:')} ${pluralize(requests, 'request')} to ${endpoint ?? ''}, at most about ${estimatedTokens} tokens (estimated prompts and maximum answers).`,
        );
        showWarnings(verdict.warnings, terminal);
        terminal.note('Only a server knows whether its models exist.');
        if (requests > defaultLimits.requests || bytes > defaultLimits.bytes)
          terminal.note(
            `The file exceeds one batch (by default ${defaultLimits.requests} requests and ${defaultLimits.bytes} bytes). batch run splits it; a plain upload is rejected.`,
          );
        if (!defaultEndpoints.some((name) => name === endpoint))
          terminal.note(`Batches of ${endpoint ?? ''} must be enabled on the server with batch.endpoints.`);
        if (verdict.namesFiles)
          terminal.note(
            'The requests use uploaded files, which must be enabled on the server with files.purposes.',
          );
        if (verdict.namesImageUrls)
          terminal.note('The requests use image URLs, which only models with image_urls: true accept.');
        return;
      }
      terminal.print(
        `${terminal.paint('red', 'Invalid:')} ${pluralize(verdict.faultCount, 'fault')} in ${pluralize(verdict.badLines, 'line')}.`,
      );
      for (const fault of verdict.faults) terminal.print(`  ${cleanLine(formatFault(fault))}`);
      const more = verdict.faultCount - verdict.faults.length;
      if (more > 0) terminal.print(`  ... and ${more} more`);
      showWarnings(verdict.warnings, terminal);
    });
}
