import { createHash } from 'node:crypto';
import { isFinal } from '../../src/core/batch.ts';
import type { Batch, ResultStream } from '../../src/core/batch.ts';
import { windowOfLength } from '../../src/core/batch-window.ts';
import { errorCatalog } from '../../src/core/errors.ts';
import { cost } from '../../src/core/price.ts';
import type { Client } from './clients.ts';
import { customIdOf, fateOf, subjectOf } from './input.ts';
import { hour, offeredWindows } from './plan.ts';
import { type SingleClient, singlesOrg } from './single-clients.ts';
import type { World } from './world.ts';

const decoder = new TextDecoder();
/** Failed attempts per line and lease that count. */
const maxAttempts = 3;

interface ResultLine {
  id: string;
  custom_id: string | null;
  response: { status_code: number; body: Record<string, unknown> } | null;
  error: { code: string; attempts: number } | null;
}

/** Checks the final state of a world; reports violations to the observer. */
export async function judge(world: World, clients: readonly Client[]): Promise<void> {
  const { observer, database } = world;
  const [{ n } = { n: 0 }] = await database.db.all<{ n: number }>(
    "SELECT count(*) AS n FROM batches WHERE id < 'batch~'",
  );
  if (n !== clients.length) observer.fail(`${clients.length} batches were created and ${n} exist`);
  for (const client of clients) {
    const id = world.batchIds.get(client.plan.name);
    const batch = id === undefined ? undefined : await database.store.batches.find(id);
    if (!batch || !isFinal(batch.status))
      observer.fail(`${client.plan.name} is ${batch?.status ?? 'missing'}`);
    else await new Judge(world, client, batch).judge();
  }
  judgeAttempts(world);
  await judgeSpending(world);
  await judgeQueued(world);
}

/** Each single request has one result, and is billed once if that is an answer. */
export async function judgeSingles(
  { database, observer }: World,
  singles: readonly SingleClient[],
): Promise<void> {
  const [found] = await database.db.all<{ requests: number; outputs: number; bodies: number }>(
    `SELECT count(*) AS requests, count(*) FILTER (WHERE stream = 'output') AS outputs,
       (SELECT count(*) FROM request_bodies) AS bodies
     FROM batch_results WHERE batch_id > 'group_'`,
  );
  const [billed] = await database.db.all<{ requests: number }>(
    'SELECT coalesce(sum(requests), 0) AS requests FROM usage_ledger WHERE org_id = ?',
    [singlesOrg],
  );
  const { requests, outputs, bodies } = found!;
  if (requests !== singles.length || billed!.requests !== outputs || bodies !== 0)
    observer.fail(
      `${singles.length} single requests have ${requests} results, ${outputs} answers, ${billed!.requests} bills and ${bodies} bodies`,
    );
}

/** Once all batches have ended, nothing counts against the limits on batches. */
async function judgeQueued({ database, observer, batchIds }: World): Promise<void> {
  for (const id of batchIds.values()) {
    const { orgId, keyId } = (await database.store.batches.find(id))!;
    const { org } = await database.store.batches.queued(orgId, keyId);
    if (org.batches + org.requests > 0 || Object.values(org.tokens).some((tokens) => tokens !== 0))
      observer.fail(`${orgId} still has queued work: ${JSON.stringify(org)}`);
  }
}

/** Spending of orgs and keys, as known to the budgets, must equal the cost of the batches in the ledger. */
async function judgeSpending({ database, observer, batchIds }: World): Promise<void> {
  const costs = new Map<string, number>();
  for (const id of batchIds.values()) {
    const { orgId, keyId, prices, priceFactor } = (await database.store.batches.find(id))!;
    for (const { model, usage } of await database.store.ledger.forSources([id]))
      for (const owner of [orgId, keyId])
        costs.set(owner, (costs.get(owner) ?? 0) + Number(cost(usage, prices[model]!, priceFactor)));
  }
  const rows = await database.db.all<{ org_id: string; amount: number }>(
    `SELECT org_id, sum(amount) AS amount FROM spending WHERE org_id NOT IN ('${singlesOrg}', 'key_s') GROUP BY org_id`,
  );
  const spent = new Map(rows.map((row) => [row.org_id, row.amount]));
  for (const orgId of new Set([...costs.keys(), ...spent.keys()]))
    if (costs.get(orgId) !== spent.get(orgId))
      observer.fail(`${orgId} spent ${spent.get(orgId)}, and its batches cost ${costs.get(orgId)}`);
}

function judgeAttempts(world: World): void {
  for (const [subject, failures] of world.failures) {
    const claims = world.claims.get(subject) ?? 0;
    // A failure that may be the engine's fault counts only once other lines were answered, as most are by then. Behind a
    // router the failure of one line makes others fail.
    const most = (world.plan.undisturbed ? 4 : 2) * maxAttempts;
    if (failures > most * Math.max(1, claims))
      world.observer.fail(`${subject} failed ${failures} times in ${claims} leases`);
  }
}

class Judge {
  #world: World;
  #client: Client;
  #batch: Batch;

  constructor(world: World, client: Client, batch: Batch) {
    this.#world = world;
    this.#client = client;
    this.#batch = batch;
  }

  async judge(): Promise<void> {
    const output = await this.#linesOf('output', this.#batch.outputFileId);
    const errors = await this.#linesOf('errors', this.#batch.errorFileId);
    this.#judgeCounts(output, errors);
    for (const line of output) this.#judgeOutput(line);
    for (const line of errors) this.#judgeError(line);
    await this.#judgeLedger(output);
    this.#judgeWindow();
    this.#judgeEnd();
  }

  #fail(what: string): void {
    this.#world.observer.fail(`${this.#client.plan.name} (${this.#batch.status}): ${what}`);
  }

  /** Returns the lines of a result file, after comparing it with its row and with the live tail. */
  async #linesOf(stream: ResultStream, fileId: string | null): Promise<ResultLine[]> {
    const file = fileId === null ? undefined : await this.#world.database.store.files.find(fileId);
    const { damaged } = this.#world;
    const bytes = file ? damaged.stored(file.blobId) : new Uint8Array(0);
    if ((fileId !== null && !file) || !bytes) {
      this.#fail(`its ${stream} file is missing`);
      return [];
    }
    if (
      file &&
      (file.bytes !== bytes.length || createHash('sha256').update(bytes).digest('hex') !== file.sha256)
    )
      this.#fail(`its ${stream} file is not what its row says`);
    const text = decoder.decode(bytes);
    const tail = this.#client.tails.find((each) => each.stream === stream);
    // A reader of a damaged file gets an error after the lines read before.
    const isKnown = file && damaged.has(file) ? text.startsWith(tail?.text ?? '') : tail?.text === text;
    if (!isKnown) this.#fail(`the live tail of ${stream} is not the ${stream} file`);
    return text
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as ResultLine);
  }

  get #isInputDamaged(): boolean {
    return this.#world.damaged.has(this.#world.inputOf(this.#client.plan.name)!.file);
  }

  #judgeCounts(output: ResultLine[], errors: ResultLine[]): void {
    const { plan } = this.#client;
    const { ok, err, total } = this.#batch;
    if (ok !== output.length || err !== errors.length)
      this.#fail(`counts ${ok}+${err}, files hold ${output.length}+${errors.length}`);
    if (total !== plan.lines.length) this.#fail(`total is ${total} of ${plan.lines.length} lines`);
    const seen = new Map<number, number>();
    for (const line of [...output, ...errors]) seen.set(numberOf(line), (seen.get(numberOf(line)) ?? 0) + 1);
    for (const at of plan.lines.keys()) {
      const times = seen.get(at) ?? 0;
      if (times !== 1) this.#fail(`line ${at} is in the result files ${times} times`);
    }
    if (seen.size !== plan.lines.length) this.#fail(`the result files name ${seen.size} lines`);
  }

  #judgeOutput(line: ResultLine): void {
    const at = this.#place(line);
    const kind = this.#client.plan.lines[at]?.kind;
    const model = this.#client.plan.lines[at]?.model ?? '';
    if (kind && fateOf(kind, model)?.stream === 'errors') this.#fail(`line ${at} (${kind}) has an output`);
    if (line.response?.status_code !== 200 || line.error !== null)
      this.#fail(`line ${at} is not an output line`);
    const choices = line.response?.body['choices'] as
      | { message: { content: string }; finish_reason: string }[]
      | undefined;
    const answer = `Echo: ${subjectOf(this.#client.plan.name, at)}`;
    const isFiltered = kind === 'filtered';
    if ((choices?.[0]?.finish_reason === 'content_filter') !== isFiltered)
      this.#fail(`line ${at} (${kind}) ended with ${choices?.[0]?.finish_reason}`);
    if (choices && !isFiltered && choices[0]?.message.content !== answer)
      this.#fail(`line ${at} has the answer of another: ${choices[0]?.message.content}`);
  }

  #judgeError(line: ResultLine): void {
    const at = this.#place(line);
    const code = line.error?.code ?? '';
    if (!(code in errorCatalog)) this.#fail(`line ${at} failed as '${code}'`);
    const ending = { batch_cancelled: 'cancelled', batch_expired: 'expired', batch_failed: 'failed' }[code];
    if (ending !== undefined) {
      if (ending !== this.#batch.status) this.#fail(`line ${at} ended as ${code}`);
      const isOwn = this.#client.plan.lines[at]?.kind === 'forbidden';
      if (this.#world.plan.undisturbed && !isOwn)
        this.#fail(`line ${at} had no answer in an undisturbed world`);
      return;
    }
    if (code === 'poison_request') return;
    const { kind, model } = this.#client.plan.lines[at] ?? { kind: 'plain', model: '' };
    const fate = fateOf(kind, model);
    // A router answers 503 for a line on which its server fails.
    if (this.#world.plan.gateway && kind === 'broken' && code === 'engine_overloaded') return;
    const flaky = this.#world.plan.flaky > 0 || kind === 'shaky' || kind === 'forbidden';
    if (flaky && code === 'upstream_error') return;
    // Two failures by chance, or in two outages, and its two refusals together use up the attempts of a line.
    const mayFailTwice = flaky || ambiguousOutages(this.#world) > 1;
    const isRefused = kind === 'refused' && code === 'engine_overloaded';
    if (mayFailTwice && isRefused && line.error!.attempts > maxAttempts) return;
    if (fate?.stream !== 'errors' || fate.code !== code) this.#fail(`line ${at} (${kind}) failed as ${code}`);
    if (kind === 'broken' && model !== 'gone' && line.error!.attempts < maxAttempts)
      this.#fail(`line ${at} was given up after ${line.error!.attempts} attempts`);
  }

  /** Checks that the ID and the custom_id name the same line of this batch, and returns its number. */
  #place(line: ResultLine): number {
    const at = numberOf(line);
    const { name } = this.#client.plan;
    const isUnknown = line.custom_id === null && this.#isInputDamaged;
    if (line.custom_id !== customIdOf(name, at) && !isUnknown)
      this.#fail(`${line.id} has the custom_id ${line.custom_id}`);
    if (line.id !== `req_${this.#batch.id.slice('batch_'.length)}_${at}`)
      this.#fail(`${line.custom_id} has the id ${line.id}`);
    return at;
  }

  async #judgeLedger(output: ResultLine[]): Promise<void> {
    const expected = new Map<string, number[]>();
    for (const { response } of output) {
      const { model, usage } = response!.body as {
        model: string;
        usage: {
          prompt_tokens: number;
          completion_tokens?: number;
          prompt_tokens_details?: { cached_tokens: number };
        };
      };
      const sum = expected.get(model) ?? [0, 0, 0, 0];
      sum[0]!++;
      sum[1]! += usage.prompt_tokens;
      sum[2]! += usage.prompt_tokens_details?.cached_tokens ?? 0;
      sum[3]! += usage.completion_tokens ?? 0;
      expected.set(model, sum);
    }
    const billed = new Map<string, number[]>();
    for (const { model, requests, usage } of await this.#world.database.store.ledger.forSources([
      this.#batch.id,
    ])) {
      const sum = billed.get(model) ?? [0, 0, 0, 0];
      const row = [requests, usage.inputTokens, usage.cachedTokens, usage.outputTokens];
      billed.set(
        model,
        sum.map((each, i) => each + row[i]!),
      );
    }
    const text = (sums: Map<string, number[]>) =>
      JSON.stringify([...sums].toSorted(([a], [b]) => (a < b ? -1 : 1)));
    if (text(expected) !== text(billed)) this.#fail(`billed ${text(billed)}, answered ${text(expected)}`);
  }

  /** A batch keeps the length and the price of the window that it was created in, and expires only at its end. */
  #judgeWindow(): void {
    const { windowMs, priceFactor, createdAt, expiresAt, status, expiredAt } = this.#batch;
    const window = windowOfLength(offeredWindows(this.#world.plan), windowMs);
    if (window?.priceFactor !== priceFactor)
      this.#fail(`has a window of ${windowMs} ms at a price factor of ${priceFactor}`);
    if (expiresAt - createdAt !== windowMs)
      this.#fail(`had ${expiresAt - createdAt} ms in a window of ${windowMs} ms`);
    const hasExpired = status === 'expired';
    if (hasExpired && ((windowMs ?? 0) > hour || (expiredAt ?? 0) < expiresAt))
      this.#fail('expired within its window');
  }

  /** A batch may end only for a cause in the plan, and within a minute of its decision once the faults are over. */
  #judgeEnd(): void {
    const { status, id, closing, errors } = this.#batch;
    const [fault] = errors;
    const { plan } = this.#client;
    if (closing !== status) this.#fail(`was to end as ${closing}`);
    // An input that is unreadable three times in a row ends its batch.
    const isLost = this.#isInputDamaged && /^The input file is (gone|damaged)\.$/.test(fault?.message ?? '');
    if (status === 'failed' && this.#world.plan.weather.blobs === 0 && !isLost)
      this.#fail(`failed: ${JSON.stringify(errors)}`);
    if (status === 'cancelled' && plan.cancelAt === null) this.#fail('cancelled without a request');
    const decided = this.#world.observer.decidedAt.get(id) ?? 0;
    const ended =
      this.#batch.completedAt ??
      this.#batch.cancelledAt ??
      this.#batch.expiredAt ??
      this.#batch.failedAt ??
      0;
    const since = Math.max(decided, this.#world.peacefulFrom);
    const took = ended - this.#world.time.clock.now() + this.#world.time.elapsed - since;
    if (took > 60_000) this.#fail(`took ${took} ms to end`);
  }
}

/** Number of outages in which an engine fails each line as it would fail a line that is at fault. */
function ambiguousOutages({ plan }: World): number {
  return plan.incidents.filter(
    ({ incident }) => incident.kind === 'refuse' && (incident.how === '404' || incident.how === '502'),
  ).length;
}

/** Line number from the ID of a result. */
function numberOf({ id }: ResultLine): number {
  return Number(id.slice(id.lastIndexOf('_') + 1));
}
