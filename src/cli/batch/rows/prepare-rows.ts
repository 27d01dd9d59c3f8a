import { hash } from 'node:crypto';
import type { Fields } from '../../../base/fields.ts';
import { batchEndpoints } from '../../../core/batch.ts';
import { createLineChecker } from '../../../wire/batch/line.ts';
import { customIdFault } from '../../../wire/batch/line-faults.ts';
import { CliError } from '../../shared/exit-codes.ts';
import { createColumnTypes } from '../../table/column-types.ts';
import type { AddedColumn, Table, TableRow } from '../../table/table.ts';
import type { InputPart } from '../run/read-input.ts';
import type { AnswerCache } from './answer-cache.ts';
import type { BodyMaker } from './request-body.ts';
import { createRequestsFile } from './requests-file.ts';
import { createRowFaults } from './row-faults.ts';
import type { RowTemplate } from './template.ts';
import type { WorkStore } from './work-store.ts';

/** Requests of a table, and what else came out of reading it. */
export interface PreparedRows {
  parts: InputPart[];
  requests: number;
  rows: number;
  /** Rows that are left out. */
  skipped: number;
  /** Rows with the same request as an earlier one. */
  repeated: number;
  /** Requests with an answer in the cache. */
  cached: number;
  /** Columns in the order of their appearance, with types for formats that need them. */
  columns: AddedColumn[];
}

export interface RowPlan {
  endpoint: string;
  prompt: RowTemplate;
  system: RowTemplate | undefined;
  makeBody: BodyMaker;
  idColumn: string | undefined;
  dedupe: boolean;
}

export interface PrepareDeps {
  table: Table;
  plan: RowPlan;
  cache: AnswerCache | undefined;
  /** Numbers of the rows to ask; all if undefined. */
  sample: ReadonlySet<number> | undefined;
  store: WorkStore;
  requestsPath: string;
  /** File of the rows that are left out; null to reject the table instead. */
  skippedPath: string | null;
  /** @throws CliError for a column that is missing in every row */
  requireColumns: (columns: readonly string[]) => void;
  /** Called now and then, to limit the memory of a large table. */
  collectGarbage: () => void;
  signal: AbortSignal;
}

const rowsPerCommit = 10_000;
const batchesPerCollection = 4;

/**
 * Writes the requests of a table to a file, and which of them asks for which row to the work store.
 * @throws CliError for rows that cannot be asked
 */
export async function prepareRows(deps: PrepareDeps): Promise<PreparedRows> {
  const { table, plan, cache, sample, store, requestsPath, skippedPath, signal } = deps;
  const faults = createRowFaults(table, skippedPath);
  const file = createRequestsFile(requestsPath);
  const types = createColumnTypes(table.columns);
  const columnNames = () => types.columns().map(({ name }) => name);
  const counts = { rows: 0, repeated: 0, cached: 0 };
  let batches = 0;
  let check = createCheck();

  const addRow = async (row: TableRow): Promise<void> => {
    counts.rows++;
    if (table.columns === undefined) types.add(row.values);
    const request = row.fault === undefined ? toRequest(row, plan, table.unit) : { fault: row.fault };
    if (request.fault !== undefined) return leaveOut(row, request.fault);
    const { customId, body } = request;
    // A cache has one answer for equal requests.
    const key =
      plan.dedupe || cache !== undefined ? hash('sha256', `${plan.endpoint}\n${body}`, 'buffer') : null;
    const known = key === null ? undefined : store.requestByKey(key);
    if (known !== undefined) {
      counts.repeated++;
      return store.addRow(row.number, known);
    }
    if (plan.idColumn !== undefined && store.hasCustomId(customId))
      return leaveOut(row, `an earlier ${table.unit} has the same ${plan.idColumn}, '${customId}'`);
    const line = Buffer.from(
      `{"custom_id":${JSON.stringify(customId)},"method":"POST","url":"${plan.endpoint}","body":${body}}\n`,
    );
    const fault = check(line, row.number);
    if (fault !== undefined) return leaveOut(row, fault);
    const answer = key === null ? null : (cache?.get(key) ?? null);
    if (answer !== null) counts.cached++;
    else if (file.add(line)) check = createCheck();
    store.addRow(row.number, store.addRequest(customId, key, answer));
  };
  const leaveOut = async (row: TableRow, reason: string) => {
    store.addRow(row.number, null);
    await faults.add(row, reason);
  };

  store.begin();
  try {
    for await (const batch of table.read()) {
      // Without a turn of the event loop, Ctrl-C would not arrive while a Parquet file is read.
      await turn();
      signal.throwIfAborted();
      if (++batches % batchesPerCollection === 0) deps.collectGarbage();
      for (const row of batch) {
        if (sample !== undefined && !sample.has(row.number)) continue;
        await addRow(row);
        if (counts.rows % rowsPerCommit !== 0) continue;
        store.commit();
        store.begin();
      }
    }
    const skipped = await faults.finish();
    deps.requireColumns(columnNames());
    const prepared = { ...file.finish(), ...counts, skipped, columns: types.columns() };
    store.setMeta('prepared', prepared);
    store.commit();
    return prepared;
  } catch (error) {
    store.rollback();
    file.discard();
    // Without its columns a template often has an empty result, which is then only a consequence.
    if (error instanceof CliError && columnNames().length > 0) deps.requireColumns(columnNames());
    throw error;
  }
}

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

type RowRequest = { fault: string } | { fault?: undefined; customId: string; body: string };

function toRequest({ number, values }: TableRow, plan: RowPlan, unit: string): RowRequest {
  const customId = plan.idColumn === undefined ? `${unit}-${number}` : idOf(values, plan.idColumn);
  if (customId === undefined) return { fault: `${plan.idColumn} is empty` };
  const idFault = customIdFault(customId);
  if (idFault !== undefined) return { fault: `${plan.idColumn} ${idFault}` };
  try {
    const prompt = plan.prompt.render(values);
    if (prompt.trim() === '') return { fault: 'the prompt is empty' };
    return { customId, body: JSON.stringify(plan.makeBody(prompt, plan.system?.render(values))) };
  } catch (error) {
    return { fault: `the template fails: ${error instanceof Error ? error.message : String(error)}` };
  }
}

function idOf(values: Fields, column: string): string | undefined {
  const value = values[column];
  if (value === null || value === undefined || value === '') return undefined;
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Checks lines by the rules of the server. Each part has a check of its own, whose memory ends with it. */
function createCheck(): (line: Buffer, number: number) => string | undefined {
  const checker = createLineChecker({
    endpoints: batchEndpoints,
    takesFiles: true,
    refuseModel: () => undefined,
  });
  return (line, number) => {
    const verdict = checker.check(line.subarray(0, -1), number);
    if (verdict.ok) return undefined;
    return verdict.faults
      .map(({ param, message }) => (param === undefined ? message : `${param}: ${message}`))
      .join('; ');
  };
}
