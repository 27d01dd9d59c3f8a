import { type Command, Option } from 'commander';
import { metadataOption, priorityOption, wholeNumber, windowOption } from '../../shared/commands.ts';
import { rawOption } from './csv.ts';
import type { BatchOptions } from './run-input.ts';

/** Options of `batch run`. */
export interface RunOptions extends BatchOptions {
  output?: string;
  format?: string;
  raw?: boolean;
  force?: boolean;
  model?: string;
  set?: string[];
  wrap?: boolean;
  prompt?: string;
  system?: string;
  schema?: string;
  idColumn?: string;
  answerColumn?: string;
  inputFormat?: string;
  encoding?: string;
  dedupe?: boolean;
  cache?: string;
  sample?: number;
  seed?: number;
  dryRun?: boolean;
  skipBad?: boolean;
}

/** Options that apply only to a table. */
export const tableOnly = ['dedupe', 'cache', 'sample', 'seed', 'skipBad'] as const;

/** Options for which the input is a table, even if it is JSON Lines. */
export const rowOptions = [
  'prompt',
  'system',
  'schema',
  'idColumn',
  'answerColumn',
  'inputFormat',
  'encoding',
] as const;

export function withRunOptions(command: Command): Command {
  return command
    .option(
      '-o, --output <file>',
      'results file, s3://bucket/key, or - for stdout (default: the input path with .output before its ending)',
    )
    .option('--format <format>', 'format of the results: jsonl or csv; of a table also tsv or parquet')
    .addOption(rawOption())
    .option('-f, --force', 'overwrite existing results')
    .option('--model <id>', 'model of every request, overriding its line')
    .option('--set <key=value...>', 'field to set in every request, such as temperature=0')
    .option('--endpoint <path>', 'endpoint of every request (default: that of the first line)')
    .option(
      '--wrap',
      'make requests of bodies such as {"messages": [...]}, one a line or in a JSON array, or of a ChatGPT export',
    )
    .addOption(
      new Option(
        '--prompt <template>',
        'ask this for each row of a table: text with {{ columns }}, or @file',
      ),
    )
    .option('--system <template>', 'system prompt of each row, or @file')
    .option('--schema <file>', 'JSON Schema of the answers; its properties become columns')
    .option('--id-column <name>', 'column with the custom_id of each row (default: the row number)')
    .option('--answer-column <name>', 'name of the column for the answer (default: answer)')
    .option('--dedupe', 'ask equal requests of a table only once')
    .option('--cache <folder>', 'keep the answers for a table in a folder, and ask only what is not there')
    .addOption(
      new Option('--sample <n>', 'only that many random rows of a table').argParser(
        wholeNumber('--sample', 1, 1_000_000),
      ),
    )
    .addOption(
      new Option('--seed <n>', 'seed of the sample: the same one gives the same rows (default: 0)').argParser(
        wholeNumber('--seed', 0, 2 ** 31),
      ),
    )
    .option('--dry-run', 'only estimate tokens, cost and time; nothing is stored')
    .option('--skip-bad', 'leave out rows that cannot be asked, and write them to a file')
    .option('--input-format <format>', 'format of the table: csv, tsv, jsonl or parquet (default: detected)')
    .option('--encoding <name>', 'encoding of a text table, such as windows-1252 (default: utf-8)')
    .addOption(metadataOption)
    .addOption(priorityOption)
    .addOption(windowOption);
}
