import type { Command } from 'commander';
import { clientCommand, examples } from '../../shared/commands.ts';
import type { Cli } from '../../shared/cli.ts';
import { existingFile } from '../../shared/local-file.ts';
import { readObjectHead } from '../../storage/fetch-object.ts';
import { isObjectUrl } from '../../storage/object-url.ts';
import { detectFormat, formatOfName, headBytes, readHead } from '../../table/table-format.ts';
import { runLines } from './run-lines.ts';
import { rowOptions, type RunOptions, withRunOptions } from './run-options.ts';

export function batchRun(cli: Cli): Command {
  const command = clientCommand(
    'run',
    'run a file of requests, or a prompt for each row of a table, and download the results in its order',
  ).argument(
    '<input>',
    'JSONL file with one request a line, or a table (CSV, TSV, JSONL, Parquet); also s3://bucket/key, or - for stdin',
  );
  return withRunOptions(command)
    .addHelpText(
      'after',
      `
A file with more than 10,000 requests or 32 MB becomes several batches with one results file.
After an interruption, run the same command again to resume the same batches.`,
    )
    .addHelpText(
      'after',
      examples(
        'in.jsonl -o out.jsonl',
        'in.jsonl --model qwen3-32b --set temperature=0 max_tokens=200 --format csv',
        'reviews.csv --prompt "Classify: {{ review }}" --model qwen3-32b -o labelled.csv',
        's3://bucket/in.jsonl -o s3://bucket/out.jsonl',
        '- -o - < in.jsonl',
      ),
    )
    .action(async (input: string, options: RunOptions) => {
      if (!(await isTable(cli, input, options))) return runLines(cli, input, options);
      // The template engine and the readers of tables are loaded only here.
      const { runRows } = await import('../rows/run-rows.ts');
      return runRows(cli, input, options);
    });
}

async function isTable(cli: Cli, input: string, options: RunOptions): Promise<boolean> {
  if (rowOptions.some((name) => options[name] !== undefined)) return true;
  if (input === '-' || options.wrap === true) return false;
  const named = formatOfName(input);
  if (named !== undefined) return named !== 'jsonl';
  const head = isObjectUrl(input)
    ? await readObjectHead(cli, input, headBytes)
    : readHead(existingFile(input, cli.cwd));
  return detectFormat(head, input) === 'parquet';
}
