import type { Timer } from '../../../base/clock.ts';
import { type Fields, fieldsOf } from '../../../base/fields.ts';
import type { Capabilities, ProbeReport } from '../../engines.ts';
import type { ReadOptions } from '../answer/chat-response.ts';
import { usageReader } from '../answer/usage.ts';
import type { Address } from '../connection/address.ts';
import { errorForStatus, type RefusalContext } from '../connection/status-errors.ts';
import type { Reply } from '../connection/replies.ts';
import { flavorOf, hasModel } from '../flavors/find-flavor.ts';
import { traitsOf } from '../flavors/flavors.ts';
import type { FlavorTraits } from '../flavors/traits.ts';
import { type Dialect, dialects } from '../request/dialects.ts';
import type { Members } from '../../../wire/json/pick-members.ts';
import { chatMembers, completionsMembers } from '../request/request-members.ts';
import type { RequestProfile } from '../request/request-text.ts';
import type { UpstreamOptions } from '../upstream-options.ts';
import { createCounter } from './count-tokens.ts';
import { askHowItIs } from './reports.ts';

/** What is known of a server: of its kind, and of what it told of itself. */
export interface ServerProfile {
  traits: FlavorTraits;
  dialect: Dialect;
  request: RequestProfile;
  capabilities: Capabilities;
  /** Behind the base of its URL. */
  chatPath: string;
  embeddingsPath: string;
  /** Of requests for raw prompts, what goes on. */
  completionsMembers: Members;
  /** How its answers are read. */
  reading: Pick<ReadOptions, 'usageOf' | 'finishes' | 'cutsAt'>;
}

export type Prober = ReturnType<typeof createProber>;

export interface ProberDeps {
  options: UpstreamOptions;
  address: Address;
  /** Questions beside the work. */
  get: (path: string) => Promise<Reply<Buffer>>;
  post: (path: string, body: unknown) => Promise<Reply<Buffer>>;
  isOpen: () => boolean;
  context: () => RefusalContext;
}

const lookAgainMs = 30_000;

export function createProber({ options, address, get, post, isOpen, context }: ProberDeps) {
  const { model, clock, log, passThrough = [] } = options;
  const modelsPath = address.path('/models');
  let isFound = options.flavor !== 'auto';
  /** What it answered when it was asked what it is: how it is is told by the same. */
  let models: Reply<Buffer> | null = null;
  let lookingAgain: Timer | undefined;
  let told: ProbeReport = { slots: null, queued: null };
  let now = knownOf(traitsOf(options));

  function knownOf(traits: FlavorTraits): ServerProfile {
    const { paths, truncatesPrompts: cutsPrompts, completions } = traits;
    const dialect = dialects[traits.dialect ?? 'chat'];
    // Whoever configures where embeddings are asked for knows of some.
    const makesEmbeddings = !traits.noEmbeddings || paths?.embeddings !== undefined;
    const capabilities: Capabilities = {
      isGuess: !isFound,
      serves: options.serves ?? (makesEmbeddings ? ['chat', 'embeddings'] : ['chat']),
      inputs: options.inputs ?? told.inputs ?? traits.inputs,
      tools: told.tools ?? true,
      customTools: traits.customTools?.test(model) ?? false,
      contextLength: options.contextLength ?? told.contextLength ?? null,
      jsonSchema: traits.jsonSchema,
      forcedTool: traits.forcedTool,
      prefixCache: traits.prefixCache,
      ...options.capabilities,
      ...(traits.dialect && { customTools: false }),
      formats: {
        ...traits.formats,
        ...(told.hasMessages && { messages: 'for stops' }),
        completions: completions ? 'native' : 'no',
        ...options.capabilities?.formats,
      },
    };
    const { customTools = false } = capabilities;
    return {
      traits,
      dialect,
      capabilities,
      request: {
        model,
        traits,
        customTools,
        report: told,
        members: chatMembers(traits, passThrough),
        passThrough,
      },
      completionsMembers: completionsMembers(traits, passThrough),
      chatPath: paths?.chat ?? dialect.path,
      embeddingsPath: paths?.embeddings ?? '/embeddings',
      reading: {
        usageOf: usageReader(traits.usage),
        finishes: traits.finish,
        cutsAt: cutsPrompts ? (told.contextLength ?? options.contextLength) : null,
      },
    };
  }

  /** Finds out what kind of server it is, where nobody said; one that is away is asked again later, and `generic` until then. */
  async function look(): Promise<void> {
    if (isFound || !isOpen()) return;
    lookingAgain?.cancel();
    try {
      const reply = await get(modelsPath);
      const { status, body } = reply;
      if (status >= 500 || status === 429) throw new Error(`status ${status}`);
      const flavor = status === 200 ? flavorOf(fieldsOf(JSON.parse(body.toString())), model) : 'generic';
      isFound = true;
      now = knownOf(traitsOf({ ...options, flavor }));
      models = reply;
      log.info(
        { upstream: address.host, upstream_model: model, flavor },
        'found out what kind of server the upstream is',
      );
    } catch {
      if (isOpen()) lookingAgain = clock.after(lookAgainMs, () => void look());
    }
  }

  return {
    /** As of now: asked for with every request, and another one when the server tells of itself. */
    get now() {
      return now;
    },
    countTokens: createCounter(
      () => now.traits.tokenCounters,
      (path, body) => post(address.rootPath(path), body),
    ),
    look,

    /** Asks it how it is. @throws ApiError when it is away or does not know us, as a request would find it */
    async probe(): Promise<ProbeReport> {
      await look();
      const just = models;
      models = null;
      const { report, listsAll = false } = now.traits;
      told = await askHowItIs(report, {
        model,
        listsAll,
        address,
        get: async (path) => (just && path === modelsPath ? just : get(path)),
        post,
        refusal: (reply) => errorForStatus({ ...reply, text: reply.body.toString() }, context()),
      });
      now = knownOf(now.traits);
      return told;
    },

    /** Whether it works and has the model: what is not there then is a call that the model lacks, not the server. */
    listsModel: () =>
      says(
        () => get(modelsPath),
        (fields) => hasModel(fields, model),
      ),
    /** Whether it embeds with the model; not where it is away. */
    makesEmbedding: () =>
      says(
        () => post(address.path(now.embeddingsPath), { model, input: 'a' }),
        ({ data }) => Array.isArray(data) && Array.isArray(fieldsOf(data[0])['embedding']),
      ),
    /** Looks no more until it is looked again. */
    rest: () => lookingAgain?.cancel(),
  };
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
