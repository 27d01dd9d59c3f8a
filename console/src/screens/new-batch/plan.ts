import { formatDollars, parseDollars } from '../../../../src/core/price.ts';
import { type Answer, api, apiBase, bodyOf } from '../../api/client.ts';
import { ApiFailure } from '../../api/failure.ts';
import { sendForm } from '../../api/send.ts';
import { toMs } from '../../parts/format.ts';
import type { CheckReport, Part } from './check-input.ts';

type RemoteFile = Answer<'/v1/files', 'post'>;
export type Batch = Answer<'/v1/batches/{batch_id}'>;

/** Price and forecast in one of the windows that the server offers. */
interface Quote {
  completion_window: string;
  cost: { amount: string; list_amount: string };
  can_be_met: boolean | null;
  eta: string | number | null;
  tokens_ahead: number;
}

/** Estimate of `dry_run`. */
export interface Estimate {
  object: 'batch.estimate';
  completion_window: string;
  windows: readonly Quote[];
  usage: { input_tokens: number; output_tokens: number };
  exact_input: boolean;
  cost: { amount: string; list_amount: string };
  forecast: {
    eta: string | number | null;
    tokens_ahead: number;
    at_risk: boolean;
    waiting: { message: string } | null;
  };
  quota: { fits: boolean; limits: readonly { name: string; limit: number; used: number; adds: number }[] };
}

/** Part of the file that the server has. */
export interface UploadedPart {
  part: Part;
  fileId: string;
  estimate: Estimate;
}

export interface SendOptions {
  file: File;
  report: CheckReport;
  /** Called with the bytes of all parts that were sent. */
  onProgress: (sent: number) => void;
  signal: AbortSignal;
}

/**
 * Uploads the parts one after the other and asks for the cost of each, without creating a batch. Parts that were uploaded before a
 * failure are removed.
 * @throws ApiFailure with the line of the whole file
 */
export async function uploadParts({
  file,
  report,
  onProgress,
  signal,
}: SendOptions): Promise<UploadedPart[]> {
  const uploaded: UploadedPart[] = [];
  try {
    for (const part of report.parts) {
      const sent = part.start;
      const upload = await uploadPart(file, part, report, (bytes) => onProgress(sent + bytes), signal);
      onProgress(part.end);
      uploaded.push({ part, fileId: upload.id, estimate: await estimate(upload.id, report, signal) });
    }
    return uploaded;
  } catch (error) {
    await removeParts(uploaded);
    throw error;
  }
}

async function uploadPart(
  file: File,
  part: Part,
  { parts }: CheckReport,
  onProgress: (bytes: number) => void,
  signal: AbortSignal,
): Promise<RemoteFile> {
  const form = new FormData();
  form.set('purpose', 'batch');
  form.set('file', file.slice(part.start, part.end), partName(file.name, parts.indexOf(part), parts.length));
  try {
    const headers = { 'idempotency-key': crypto.randomUUID() };
    return await sendForm<RemoteFile>({ path: `${apiBase}/v1/files`, form, headers, onProgress, signal });
  } catch (error) {
    throw error instanceof ApiFailure ? shiftLine(error, part.linesBefore) : error;
  }
}

/** Name of a part: `reviews.jsonl`, or `reviews (2 of 3).jsonl`. */
export function partName(name: string, at: number, of: number): string {
  if (of === 1) return name;
  const dot = name.lastIndexOf('.');
  const end = dot > 0 ? dot : name.length;
  return `${name.slice(0, end)} (${at + 1} of ${of})${name.slice(end)}`;
}

/** Failure with the line of the whole file instead of that of its part. */
export function shiftLine(error: ApiFailure, linesBefore: number): ApiFailure {
  const message = error.message.replace(/\bline (\d+)/i, (text, line: string) =>
    text.replace(line, String(Number(line) + linesBefore)),
  );
  return new ApiFailure(message, error);
}

async function estimate(fileId: string, { endpoint }: CheckReport, signal: AbortSignal): Promise<Estimate> {
  const body = { ...batchBody(fileId, endpoint), dry_run: true };
  const answer: unknown = await bodyOf(api.POST('/v1/batches', { body, signal }));
  return answer as Estimate;
}

function batchBody(fileId: string, endpoint: CheckReport['endpoint'], window = '24h') {
  return {
    endpoint: endpoint ?? '/v1/chat/completions',
    completion_window: window,
    input_file_id: fileId,
  } as const;
}

export interface BatchOptions {
  /** Shown as the name of the batch. */
  name: string;
  priority: number | null;
  /** Completion window. */
  window: string;
}

/**
 * Creates a batch for each part that has none in `created`, where it adds them: a second attempt, with other options, creates the rest.
 * @throws ApiFailure
 */
export async function createBatches(
  uploaded: readonly UploadedPart[],
  { endpoint }: CheckReport,
  { name, priority, window }: BatchOptions,
  created: Map<string, Batch>,
): Promise<Batch[]> {
  for (const [at, { fileId }] of uploaded.entries()) {
    if (created.has(fileId)) continue;
    const metadata = name === '' ? {} : { name: partName(name, at, uploaded.length) };
    // The document says of the metadata only that it is an object.
    const body = {
      ...batchBody(fileId, endpoint, window),
      metadata: metadata as Record<string, never>,
      priority,
    };
    const headers = { 'Idempotency-Key': `console-${fileId}` };
    const answer: unknown = await bodyOf(api.POST('/v1/batches', { body, headers }));
    created.set(fileId, answer as Batch);
  }
  return [...created.values()];
}

/** Removes the uploads of batches that are not created. */
export async function removeParts(uploaded: readonly Pick<UploadedPart, 'fileId'>[]): Promise<void> {
  for (const { fileId } of uploaded)
    await api.DELETE('/v1/files/{file_id}', { params: { path: { file_id: fileId } } }).catch(() => undefined);
}

type Estimated = Pick<UploadedPart, 'estimate'>;

/** Offer of a window for all parts. */
export interface WindowOffer {
  name: string;
  amount: string;
  /** False if a part would miss it; null while that is unknown. */
  canBeMet: boolean | null;
}

/** Windows that the server offers, with the price of all parts. */
export function windowOffers(parts: readonly Estimated[]): WindowOffer[] {
  const names = parts[0]?.estimate.windows.map(({ completion_window: name }) => name) ?? [];
  return names.map((name) => {
    const quotes = parts.map(({ estimate: { windows } }) => quoteIn(windows, name));
    const met = quotes.map(({ can_be_met: canBeMet }) => canBeMet);
    return {
      name,
      amount: formatDollars(quotes.reduce((sum, { cost }) => sum + parseDollars(cost.amount), 0n)),
      canBeMet: met.includes(false) ? false : met.includes(null) ? null : true,
    };
  });
}

/** The part with the price and the forecast of a window. */
export function inWindow<T extends Estimated>(part: T, name: string): T {
  const { estimate: usual } = part;
  const { cost, eta, can_be_met: canBeMet, tokens_ahead } = quoteIn(usual.windows, name);
  const forecast = { ...usual.forecast, eta, tokens_ahead, at_risk: canBeMet === false };
  return { ...part, estimate: { ...usual, completion_window: name, cost, forecast } };
}

function quoteIn(windows: readonly Quote[], name: string): Quote {
  return windows.find(({ completion_window: each }) => each === name)!;
}

/** Sums of the estimates of all parts. */
export function sumEstimates(parts: readonly Estimated[]) {
  const sum = (of: (estimate: Estimate) => string) =>
    formatDollars(parts.reduce((total, { estimate: each }) => total + parseDollars(of(each)), 0n));
  const tokens = (of: (estimate: Estimate) => number) =>
    parts.reduce((total, { estimate: each }) => total + of(each), 0);
  return {
    amount: sum(({ cost }) => cost.amount),
    listAmount: sum(({ cost }) => cost.list_amount),
    inputTokens: tokens(({ usage }) => usage.input_tokens),
    outputTokens: tokens(({ usage }) => usage.output_tokens),
    isExact: parts.every(({ estimate: each }) => each.exact_input),
    /** Limits that a part exceeds. */
    exceeded: parts.flatMap(({ estimate: each }) =>
      each.quota.fits ? [] : each.quota.limits.filter(({ limit, used, adds }) => used + adds > limit),
    ),
  };
}

/** When the batches of all parts would be done. */
export interface Expected {
  /** Epoch milliseconds of the latest part; null while it is unknown. */
  eta: number | null;
  /** True for several parts: each was estimated without the others. */
  isEarliest: boolean;
  tokensAhead: number;
  isAtRisk: boolean;
  /** Reason why the time is unknown. */
  reason: string | null;
}

export function expectedEnd(parts: readonly Estimated[]): Expected {
  const forecasts = parts.map(({ estimate: { forecast } }) => forecast);
  const etas = forecasts.flatMap(({ eta }) => (eta === null ? [] : [toMs(eta)]));
  const isKnown = etas.length === forecasts.length && etas.length > 0;
  const waiting = forecasts.find((each) => each.waiting !== null)?.waiting ?? null;
  return {
    eta: isKnown ? Math.max(...etas) : null,
    isEarliest: forecasts.length > 1,
    tokensAhead: Math.max(0, ...forecasts.map(({ tokens_ahead: tokens }) => tokens)),
    isAtRisk: forecasts.some(({ at_risk: isLate }) => isLate),
    reason: isKnown ? null : (waiting?.message ?? 'No request of the model was measured yet.'),
  };
}
