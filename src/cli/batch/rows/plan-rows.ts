import type { Cli } from '../../shared/cli.ts';
import { CliError } from '../../shared/exit-codes.ts';
import type { Table } from '../../table/table.ts';
import { readSettings } from '../run/prepare-input.ts';
import type { RunOptions } from '../run/run-options.ts';
import { type AnswerSchema, readAnswerSchema } from './answer-schema.ts';
import type { RowPlan } from './prepare-rows.ts';
import { bodyMaker } from './request-body.ts';
import { compileTemplate, requireColumns, textOption } from './template.ts';

/** Requests that a run makes of each row. */
export interface Plan extends RowPlan {
  schema: AnswerSchema | undefined;
  /** Everything that decides on the requests, besides the table. */
  decisive: unknown;
}

/** @throws CliError for options that do not fit together */
export function planRows(cli: Cli, { name, columns }: Table, options: RunOptions): Plan {
  const { cwd } = cli;
  if (options.prompt === undefined)
    throw new CliError(
      `${name} is a table${columns === undefined ? '' : `: its columns are ${columns.slice(0, 30).join(', ')}`}.`,
      `Say what to ask for each row, such as --prompt 'Classify: {{ ${columns?.[0] ?? 'text'} }}'.`,
    );
  if (options.model === undefined)
    throw new CliError(
      '--model is missing.',
      `To see the models of a server: ${cli.terminal.self.command} models list.`,
    );
  const { model, idColumn, dedupe = false, skipBad = false, sample, seed } = options;
  const endpoint = options.endpoint ?? '/v1/chat/completions';
  const schema = options.schema === undefined ? undefined : readAnswerSchema(options.schema, cwd);
  const settings = readSettings(options.set);
  const prompt = textOption('--prompt', options.prompt, cwd);
  const system = options.system === undefined ? undefined : textOption('--system', options.system, cwd);
  return {
    endpoint,
    schema,
    prompt: compileTemplate('--prompt', prompt),
    system: system === undefined ? undefined : compileTemplate('--system', system),
    makeBody: bodyMaker({ endpoint, model, schema, settings }),
    idColumn,
    dedupe,
    decisive: { endpoint, schema, prompt, system, model, settings, idColumn, dedupe, skipBad, sample, seed },
  };
}

/** @throws CliError for a column that the table does not have */
export function requireKnownColumns(
  { name, columns }: Pick<Table, 'name' | 'columns'>,
  { prompt, system, idColumn }: Plan,
): void {
  if (columns === undefined) return;
  const known = { name, columns };
  requireColumns(prompt, known);
  if (system !== undefined) requireColumns(system, known);
  if (idColumn !== undefined) requireColumns({ option: '--id-column', columns: new Set([idColumn]) }, known);
}
