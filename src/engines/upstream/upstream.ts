import type { IncomingHttpHeaders } from 'node:http';
import type { Clock, Timer } from '../../base/clock.ts';
import type { Ids } from '../../base/ids.ts';
import type { Log } from '../../base/log.ts';
import { ApiError } from '../../core/errors.ts';
import type { Flavor, OwnTraits } from '../../core/flavor.ts';
import type { ModelInput, Serves } from '../../core/model.ts';
import type { ChatChunks, ChatRequest, ChatResponse } from '../../wire/chat/chat.ts';
import { isEmbeddings } from '../../wire/embeddings/embeddings.ts';
import { chunksOf } from '../../wire/chat/stream/chunks-of.ts';
import { estimatePrompt } from '../../wire/chat/request/estimate-prompt.ts';
import { foldChunks } from '../../wire/chat/stream/fold-chunks.ts';
import { type JsonBody, madeBody } from '../../wire/json/json-body.ts';
import type { Capabilities, Engine, Report, RateTold } from '../engines.ts';
import { addressOf } from './connection/address.ts';
import type { ReadOptions } from './answer/chat-response.ts';
import { allChoices, streamAllChoices } from './answer/choices.ts';
import { createCompletionCalls } from './completions/completion-calls.ts';
import { createChatAsking } from './probe/chat-asking.ts';
import { type Counter, countTimeouts, createCounter, type Post } from './probe/count-tokens.ts';
import { type Dialect, dialects } from './request/dialects.ts';
import { noEmbeddings, readEmbeddings, refusedDimensions } from './answer/embeddings-response.ts';
import { createExchanges } from './connection/exchanges.ts';
import { type Fields, fieldsOf } from '../../base/fields.ts';
import { flavorOf, hasModel } from './flavors/find-flavor.ts';
import { flavorTraits, traitsOf } from './flavors/flavors.ts';
import type { FlavorTraits } from './flavors/traits.ts';
import { createHangWatch } from './connection/hang-watch.ts';
import { headersOf } from './connection/headers.ts';
import { createNativeCalls } from './native/native-calls.ts';
import type { Repairs } from './answer/repairs.ts';
import { rateTold } from './connection/rate-headers.ts';
import { createLifeSigns } from './probe/life-signs.ts';
import { askHowItIs } from './probe/reports.ts';
import { chatMembers, completionsMembers, embeddingsMembers } from './request/request-members.ts';
import { embeddingsText, type Wording } from './request/request-text.ts';
import { AbsentError, errorForStatus, type RefusalContext } from './connection/status-errors.ts';
import { defaultTimeouts, type Timeouts } from './connection/timeouts.ts';
import { usageReader } from './answer/own-usage.ts';
import { createTransport, type Reply, type Transport } from './connection/transport.ts';

export interface UpstreamOptions {
  /** Base address, mostly ending in `/v1` (`connection/address.ts`). */
  url: string;
  /** The upstream's own name of the model. */
  model: string;
  apiKey?: string | undefined;
  /** `auto` asks the server when it is started; `generic` if absent. */
  flavor?: Flavor | 'auto' | undefined;
  /** What is configured over its flavor. */
  ownTraits?: OwnTraits | undefined;
  /** Requests the upstream works on at once; null where nobody knows. */
  slots: number | null;
  /** What servers of its kind serve if absent. */
  serves?: readonly Serves[] | undefined;
  /** What the model takes beside text; what servers of its kind may take if absent. */
  inputs?: readonly ModelInput[] | undefined;
  /** Members of requests that go on to the server though its flavor does not name them. */
  passThrough?: readonly string[] | undefined;
  /** What is known better than by its flavor. */
  capabilities?:
    | Partial<Pick<Capabilities, 'jsonSchema' | 'forcedTool' | 'prefixCache' | 'speaks'>>
    | undefined;
  /** Sent with every call. */
  headers?: Readonly<Record<string, string>> | undefined;
  /** Who signs its certificate, as PEM; who is known everywhere if absent. */
  ca?: string | undefined;
  contextLength?: number | null | undefined;
  timeouts?: Partial<Timeouts> | undefined;
  clock: Clock;
  ids: Ids;
  log: Log;
}

/** Counting goes beside the work: it must not wait until a connection is free again. */
interface Connections {
  work: Transport;
  counting: Transport;
}

const never = new AbortController().signal;

/** What a server tells of itself is no longer, models of a large gateway included. */
const longestTold = 4 * 1024 * 1024;

/** How long a server that was away at the start is left alone before it is asked again what it is. */
const leastWatchedMs = 60_000;
const lookAgainMs = 30_000;

/** A refusal of our credentials is said once in this long, not for each of 10,000 lines. */
const sayAgainMs = 60_000;

/**
 * A server that speaks chat completions, over HTTP/1.1, or another format that they are translated to (`request/dialects.ts`).
 * Requests go out as the client's bytes with little replaced (`request/request-text.ts`), answers come back repaired or refused
 * (`answer/`). The server may be
 * down when it is started: at most it is asked then what it is.
 */
export function createUpstreamEngine(options: UpstreamOptions): Engine {
  const { model, apiKey, slots, clock, ids, log } = options;
  const address = addressOf(options.url, model);
  const timeouts = { ...defaultTimeouts, ...options.timeouts };
  const asked = options.flavor ?? 'generic';
  const headers = headersOf(options);
  const secrets = [apiKey ?? '', ...address.secrets, ...Object.values(options.headers ?? {})].filter(
    (secret) => secret.length > 2,
  );
  const newCallId = () => ids.next('call_');
  const saidAt = new Map<string, number>();
  let open: Connections | undefined = connect();

  let onRate: ((told: RateTold) => void) | undefined;
  function onHeaders(told: IncomingHttpHeaders): void {
    const rate = onRate && rateTold(told, clock.now());
    if (rate) onRate?.(rate);
  }

  function connect(): Connections {
    const { origin } = address;
    const { ca } = options;
    return {
      work: createTransport({
        origin,
        ca,
        headers,
        connections: null,
        timeouts,
        clock,
        beginsAtOnce: () => traits.asStream?.value === 'at once',
        onHeaders,
      }),
      counting: createTransport({
        origin,
        ca,
        headers,
        connections: 2,
        timeouts: countTimeouts,
        longest: longestTold,
        clock,
      }),
    };
  }

  function connected(): Connections {
    if (!open) throw new ApiError('shutting_down', 'The engine is being stopped.');
    return open;
  }

  const postBeside = (path: string, body: unknown) =>
    connected().counting.post(path, JSON.stringify(body), never);
  const postCounting: Post = (path, body) => postBeside(address.rootPath(path), body);

  const { passThrough = [] } = options;
  const embeddingsWording = { model, members: embeddingsMembers(passThrough) };
  let traits: FlavorTraits;
  let wording: Wording;
  let capabilities: Capabilities;
  let dialect: Dialect;
  let countTokens: Counter;
  let isFound = false;
  /** What it answered when it was asked what it is: how it is is told by the same. */
  let models: Reply<Buffer> | null = null;
  let lookingAgain: Timer | undefined;
  let told: Report = { slots: null, queued: null };
  take(asked === 'auto' ? 'generic' : asked);

  function take(flavor: Flavor): void {
    traits = traitsOf(flavor, options.ownTraits);
    wording = { model, traits, told, members: chatMembers(traits, passThrough), passThrough };
    dialect = dialects[traits.format?.value ?? 'chat'];
    countTokens = createCounter(traits.counter.value, postCounting);
    capabilities = capabilitiesNow();
  }

  /** They are asked for with every request, and change when the server tells of itself. */
  function capabilitiesNow(): Capabilities {
    return {
      serves: options.serves ?? (makesEmbeddings(traits) ? ['chat', 'embeddings'] : ['chat']),
      inputs: options.inputs ?? told.inputs ?? traits.inputs.value,
      tools: told.tools ?? true,
      contextLength: options.contextLength ?? told.contextLength ?? null,
      jsonSchema: traits.jsonSchema.value,
      forcedTool: traits.forcedTool.value,
      prefixCache: traits.prefixCache.value,
      ...options.capabilities,
      speaks: { ...speechOf(traits), ...options.capabilities?.speaks },
    };
  }

  /** Finds out what kind of server it is; one that is away is asked again later, and `generic` until then. */
  async function look(): Promise<void> {
    if (asked !== 'auto' || isFound || !open) return;
    lookingAgain?.cancel();
    try {
      const reply = await open.counting.get(address.path('/models'), never);
      const { status, body } = reply;
      if (status >= 500 || status === 429) throw new Error(`status ${status}`);
      const flavor = status === 200 ? flavorOf(fieldsOf(JSON.parse(body.toString())), model) : 'generic';
      take(flavor);
      models = reply;
      isFound = true;
      log.info({ upstream: address.host, model, flavor }, 'found out what kind of server the upstream is');
    } catch {
      if (open) lookingAgain = clock.after(lookAgainMs, () => void look());
    }
  }

  const knock = () => connected().counting.get(address.path('/models'), never);

  const hangs = createHangWatch({
    clock,
    // Below that a server that is slow to be asked would be taken for one that hangs.
    idleMs: timeouts.idleMs && Math.max(timeouts.idleMs, leastWatchedMs),
    work: () => open?.work,
    ...createLifeSigns(() => traits.life?.value ?? 'door', {
      get: (path) => connected().counting.get(address.rootPath(path), never),
      wait: (path, signal) => connected().work.get(address.rootPath(path), signal),
      work: (signal) => connected().work.post(...leastWork(), signal),
      knock,
    }),
  });

  /** The path and the text of a request that costs next to nothing. */
  function leastWork(): [string, string] {
    if (!capabilities.serves.includes('chat'))
      return [address.path(embeddingsPath()), JSON.stringify({ model, input: 'a' })];
    const messages = [{ role: 'user' as const, content: 'Hi' }];
    const least = madeBody<ChatRequest>({ model, messages, max_completion_tokens: 1 });
    return [address.path(chatPath()), dialect.text(least, false, wording)];
  }

  const context = (): RefusalContext => ({
    now: clock.now(),
    secrets,
    failures: traits.failures?.value,
    note: noteRefusal,
  });

  /** Logs `message` unless it was logged a moment ago. */
  function say(message: string, fields: object): void {
    const now = clock.monotonic();
    const last = saidAt.get(message);
    if (last !== undefined && now - last < sayAgainMs) return;
    saidAt.set(message, now);
    log.warn({ upstream: address.host, model, ...fields }, message);
  }

  function noteRefusal(status: number, words: string): void {
    const isOurs = status === 401 || status === 402 || status === 403;
    const why = isOurs ? 'refuses our credentials: check api_key and the account' : `answers ${status}`;
    say(`the upstream ${why}`, { status, said: words });
  }

  function noteRepairs(repairs: Repairs): void {
    for (const repair of repairs) say(`an answer of the upstream was put right: ${repair}`, {});
  }

  const exchanges = createExchanges({
    transport() {
      const { work } = connected();
      // Of the others nobody knows whether their door is open while they work.
      if (traits.life) hangs.begin();
      return work;
    },
    pathOf: address.path,
    context,
    noteRepairs,
  });

  const chatPath = () => traits.paths?.value.chat ?? dialect.path;
  const embeddingsPath = () => traits.paths?.value.embeddings ?? '/embeddings';

  /** Whether it works and has the model: what is not there then is a call that the model lacks, not the server. */
  const listsModel = () => says(knock, (fields) => hasModel(fields, model));

  const answered = createChatAsking(clock, () =>
    says(
      async () => postBeside(address.path(embeddingsPath()), { model, input: 'a' }),
      ({ data }) => Array.isArray(data) && Array.isArray(fieldsOf(data[0])['embedding']),
    ),
  );

  const cutsAt = () => (traits.cutsPrompts ? (told.contextLength ?? options.contextLength) : null);

  const howToRead = () => ({
    usageOf: usageReader(traits.usage?.value),
    finishes: traits.finish?.value,
    cutsAt: cutsAt(),
  });

  const readingOf = ({ value }: JsonBody<ChatRequest>, repairs: Repairs): ReadOptions => ({
    asked: () => estimatePrompt(value),
    alternatives: value.top_logprobs ?? 0,
    newCallId,
    repairs,
    ...howToRead(),
  });

  async function complete(request: JsonBody<ChatRequest>, signal: AbortSignal): Promise<ChatResponse> {
    if (traits.asStream) return foldChunks(stream(request, signal));
    const repairs: Repairs = new Set();
    const text = dialect.text(request, false, wording);
    const once = () => exchanges.ask(chatPath(), text, signal, repairs);
    const { fields, bytes } = await answered(once, signal);
    const response = dialect.read(fields, bytes, readingOf(request, repairs));
    noteRepairs(repairs);
    return response;
  }

  async function* stream(request: JsonBody<ChatRequest>, signal: AbortSignal): ChatChunks {
    const repairs: Repairs = new Set();
    const text = dialect.text(request, true, wording);
    const reply = await answered(() => exchanges.open(chatPath(), text, signal, repairs), signal);
    const reading = readingOf(request, repairs);
    if (reply.isStream) {
      const { body, finish, hurry } = reply;
      yield* dialect.readStream(body, { ...reading, context: context(), finish, hurry });
    } else yield [...chunksOf(dialect.read(reply.fields, reply.bytes, reading))];
    noteRepairs(repairs);
  }

  return {
    slots,
    get capabilities() {
      return capabilities;
    },

    async start() {
      open ??= connect();
      await look();
    },

    async stop() {
      const closing = open;
      open = undefined;
      lookingAgain?.cancel();
      hangs.stop();
      await Promise.all([closing?.work.close(), closing?.counting.close()]);
    },

    async generate(request, { signal }) {
      const once = (each: JsonBody<ChatRequest>) => complete(each, signal);
      if ((request.value.n ?? 1) === 1) return { body: await once(request) };
      return { body: await allChoices(request, once, traits.choicesApart?.value) };
    },

    stream(request, { signal }) {
      const once = (each: JsonBody<ChatRequest>) => stream(each, signal);
      if ((request.value.n ?? 1) === 1) return once(request);
      return streamAllChoices(request, once, traits.choicesApart?.value);
    },

    native: createNativeCalls(
      exchanges,
      () => wording,
      createCompletionCalls(exchanges, () => ({
        wording,
        members: completionsMembers(traits, passThrough),
        abilities: (traits.completions ?? flavorTraits.generic.completions)?.value ?? [],
        apart: traits.choicesApart?.value,
        ...howToRead(),
      })),
    ),

    async embed(request, { signal }) {
      const repairs: Repairs = new Set();
      const text = embeddingsText(request, embeddingsWording);
      const { fields } = await exchanges
        .ask(embeddingsPath(), text, signal, repairs)
        .catch(async (error: unknown) => {
          if (error instanceof AbsentError && (await listsModel())) throw noEmbeddings();
          throw refusedDimensions(error, request.value);
        });
      const embeddings = readEmbeddings(fields, request.value, repairs, cutsAt());
      noteRepairs(repairs);
      return embeddings;
    },

    onRate: (listener) => void (onRate = listener),

    async probe() {
      await look();
      const just = models;
      models = null;
      told = await askHowItIs(traits.report.value, {
        model,
        listsAll: traits.listsAll?.value ?? false,
        address,
        get: async (path) =>
          just && path === address.path('/models') ? just : connected().counting.get(path, never),
        post: postBeside,
        refusal: (reply) => errorForStatus({ ...reply, text: reply.body.toString() }, context()),
      });
      wording = { ...wording, told };
      capabilities = capabilitiesNow();
      return told;
    },

    async countTokens(request) {
      if (traits.counter.value.length === 0 || isEmbeddings(request)) return undefined;
      const text = dialect.text(madeBody(request), false, wording);
      return countTokens(JSON.parse(text) as ChatRequest);
    },
  };
}

function speechOf({ speaks = {}, completions }: FlavorTraits): Capabilities['speaks'] {
  const told = Object.entries(speaks).map(([op, { value }]) => [op, value]);
  return { ...Object.fromEntries(told), completions: completions ? 'native' : 'no' };
}

/** Whoever configures where they are asked for knows of some. */
function makesEmbeddings({ paths, ...traits }: FlavorTraits): boolean {
  return !traits.noEmbeddings || paths?.value?.embeddings !== undefined;
}

/** Whether its reply is what is looked for; not where it is away. */
async function says(
  asked: () => Promise<Reply<Buffer>>,
  isIt: (fields: Fields) => boolean,
): Promise<boolean> {
  try {
    const { status, body } = await asked();
    return status === 200 && isIt(fieldsOf(JSON.parse(body.toString())));
  } catch {
    return false;
  }
}
