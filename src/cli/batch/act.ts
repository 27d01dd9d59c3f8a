import { createInterface } from 'node:readline/promises';
import { type Command, Option } from 'commander';
import type { ActionBody, Client } from '../../client/client.ts';
import type { RemoteAction } from '../../client/resources.ts';
import { actionKinds } from '../../core/batch-action.ts';
import { pluralize } from '../../base/words.ts';
import { sleep } from '../../base/clock.ts';
import { type BatchFilters, batchFilterOptions, filterQuery } from '../shared/batch-filters.ts';
import type { Cli, ClientOptions } from '../shared/cli.ts';
import { clientCommand, examples, printResult, wholeNumber } from '../shared/commands.ts';
import { connect, connectAdmin } from '../shared/connect.ts';
import { CliError, exitCodes } from '../shared/exit-codes.ts';
import { interruptible } from '../shared/signals.ts';
import type { Terminal } from '../terminal/terminal.ts';

interface Options extends ClientOptions, BatchFilters {
  all?: boolean;
  org?: string;
  code?: string[];
  priority?: number;
  dryRun?: boolean;
  yes?: boolean;
}

const pollMs = 300;

/** Action on many batches: counts them, asks, and shows the progress until the end. Ctrl-C stops the action. */
export function batchAct(isOperator = false): (cli: Cli) => Command {
  return (cli) => {
    const kinds = actionKinds.filter((kind) => isOperator || kind !== 'priority');
    const command = clientCommand('act', 'act on many batches, given by ids or by filters', isOperator)
      .argument('<action>', kinds.join(', '))
      .argument('[ids...]', 'batches to change; or use --all with filters')
      .option('--all', 'all batches that match the filters, or all batches without one');
    for (const option of batchFilterOptions()) command.addOption(option);
    if (isOperator)
      command
        .option('--org <org>', 'only batches of this org (id or name)')
        .addOption(
          new Option('--priority <n>', 'new priority, 0 to 9').argParser(wholeNumber('--priority', 0, 9)),
        );
    return command
      .option('--code <code...>', 'with retry: only requests that failed with one of these error codes')
      .option('--dry-run', 'only count the batches')
      .option('--yes', 'do not ask')
      .addHelpText(
        'after',
        examples('pause --all --status in_progress', 'retry --all --search nightly --yes'),
      )
      .action(async (action: string, ids: string[], options: Options) => {
        const client = (isOperator ? connectAdmin : connect)(cli, options);
        await act(cli, isOperator ? client.admin.batches.actions : client.batches.actions, options, {
          action,
          ...selection(ids, options),
          codes: options.code,
          priority: options.priority,
        });
      });
  };
}

type Actions = Client['batches']['actions'];

/** @throws CliError unless exactly one of ids and `--all` is given */
function selection(ids: readonly string[], options: Options): Pick<ActionBody, 'ids' | 'filter'> {
  const filter = { ...filterQuery(options), org: options.org };
  const isFiltered = Object.values(filter).some((value) => value !== undefined);
  if (ids.length > 0 && (options.all === true || isFiltered))
    throw new CliError('Pass either ids or --all with filters, not both.');
  if (ids.length > 0) return { ids };
  if (options.all !== true)
    throw new CliError('No batches are given.', 'Pass their ids, or --all with filters such as --status.');
  const { at_risk: atRisk, ...rest } = filter;
  return { filter: { ...rest, at_risk: atRisk === undefined ? undefined : atRisk === 'true' } };
}

async function act(cli: Cli, actions: Actions, options: Options, body: ActionBody): Promise<void> {
  const { terminal } = cli;
  const preview = await actions.preview(body);
  const { matched, changes, requests, skipped } = preview;
  if (options.dryRun === true) return printResult(cli, options, preview, (_, to) => to.print(summary()));
  if (options.yes !== true && !(await isConfirmed(terminal, summary()))) {
    terminal.note('Nothing was changed.');
    cli.exitCode = exitCodes.usage;
    return;
  }
  const begun = await actions.create(body);
  let last = begun;
  const wait = async (signal: AbortSignal) => {
    while (last.status === 'running') {
      await sleep(cli.clock, pollMs, signal);
      last = await actions.get(begun.id);
    }
  };
  await interruptible(cli, undefined, wait);
  if (last.status === 'running') last = await actions.cancel(begun.id);
  if (last.failed > 0) cli.exitCode = exitCodes.usage;
  if (last.status === 'cancelled') cli.exitCode = exitCodes.interrupted;
  printResult(cli, options, last, showAction);

  function summary(): string {
    const rest = skipped.map(({ reason, count }) => `${count} ${reason}`).join(', ');
    return (
      `${body.action}: ${changes} of ${pluralize(matched, 'batch')}, with ${pluralize(requests, 'request')}` +
      (rest === '' ? '' : ` (not: ${rest})`)
    );
  }
}

/** Asks on a terminal. @throws CliError in a pipe */
async function isConfirmed(terminal: Terminal, question: string): Promise<boolean> {
  const { stdin, stderr } = terminal;
  if (stdin.isTTY !== true) {
    terminal.note(question);
    throw new CliError('The action needs a confirmation.', 'Pass --yes.');
  }
  const prompt = createInterface({ input: stdin, output: stderr, terminal: true });
  try {
    return /^y(es)?$/i.test((await prompt.question(`${question}. Continue? [y/N] `)).trim());
  } finally {
    prompt.close();
  }
}

function showAction(action: RemoteAction, terminal: Terminal): void {
  terminal.print(`${terminal.paint('bold', action.id)}  ${action.status}`);
  terminal.record([
    ['done', `${action.done} of ${action.total}`],
    ['skipped', String(action.skipped)],
    ['failed', String(action.failed)],
    ...action.failures.map(({ batch_id: id, code, message }): [string, string] => [
      'failure',
      `${id}: ${message} (${code})`,
    ]),
  ]);
}
