import type { Timer } from '../../../base/clock.ts';
import { type Fields, fieldsOf } from '../../../base/fields.ts';
import type { Flavor } from '../../../core/flavor.ts';
import type { Capabilities, Report } from '../../engines.ts';
import type { ReadOptions } from '../answer/chat-response.ts';
import { usageReader } from '../answer/own-usage.ts';
import type { Address } from '../connection/address.ts';
import { errorForStatus, type RefusalContext } from '../connection/status-errors.ts';
import type { Reply } from '../connection/transport.ts';
import { flavorOf, hasModel } from '../flavors/find-flavor.ts';
import { traitsOf } from '../flavors/flavors.ts';
import type { FlavorTraits } from '../flavors/traits.ts';
import { type Dialect, dialects } from '../request/dialects.ts';
import { chatMembers } from '../request/request-members.ts';
import type { Wording } from '../request/request-text.ts';
import type { UpstreamOptions } from '../upstream-options.ts';
import { type Counter, createCounter } from './count-tokens.ts';
import { askHowItIs } from './reports.ts';

/** What is known of a server: of its kind, and of what it told of itself. Parts of it change while the server runs. */
export interface Profile {
  readonly traits: FlavorTraits;
  readonly wording: Wording;
  readonly dialect: Dialect;
  readonly capabilities: Capabilities;
  readonly countTokens: Counter;
  /** Behind the base of its URL. */
  readonly chatPath: string;
  readonly embeddingsPath: string;
  /** The context to which it cuts prompts silently, where it does. */
  readonly cutsAt: number | null | undefined;
  /** How its answers are read. */
  readonly reading: () => Pick<ReadOptions, 'usageOf' | 'finishes' | 'cutsAt'>;
  /** Finds out what kind of server it is, where nobody said; one that is away is asked again later, and `generic` until then. */
  look(): Promise<void>;
  /** Asks it how it is. @throws ApiError when it is away or does not know us, as a request would find it */
  probe(): Promise<Report>;
  /** Whether it works and has the model: what is not there then is a call that the model lacks, not the server. */
  listsModel(): Promise<boolean>;
  /** Looks no more until it is looked again. */
  rest(): void;
}

export interface ProfileParts {
  options: UpstreamOptions;
  address: Address;
  /** Questions beside the work. */
  get: (path: string) => Promise<Reply<Buffer>>;
  post: (path: string, body: unknown) => Promise<Reply<Buffer>>;
  isOpen: () => boolean;
  context: () => RefusalContext;
}

const lookAgainMs = 30_000;

export function createProfile({ options, address, get, post, isOpen, context }: ProfileParts): Profile {
  const { model, clock, log, passThrough = [] } = options;
  const asked = options.flavor ?? 'generic';
  const modelsPath = address.path('/models');
  let traits: FlavorTraits;
  let wording: Wording;
  let capabilities: Capabilities;
  let dialect: Dialect;
  let countTokens: Counter;
  let isFound = asked !== 'auto';
  /** What it answered when it was asked what it is: how it is is told by the same. */
  let models: Reply<Buffer> | null = null;
  let lookingAgain: Timer | undefined;
  let told: Report = { slots: null, queued: null };
  take(asked === 'auto' ? 'generic' : asked);

  function take(flavor: Flavor): void {
    traits = traitsOf(flavor, options.ownTraits);
    dialect = dialects[traits.format ?? 'chat'];
    countTokens = createCounter(traits.counter, (path, body) => post(address.rootPath(path), body));
    capabilities = capabilitiesNow();
    const { customTools = false } = capabilities;
    wording = { model, traits, customTools, told, members: chatMembers(traits, passThrough), passThrough };
  }

  /** They are asked for with every request, and change when the server tells of itself. */
  function capabilitiesNow(): Capabilities {
    return {
      isGuess: !isFound,
      serves: options.serves ?? (makesEmbeddings(traits) ? ['chat', 'embeddings'] : ['chat']),
      inputs: options.inputs ?? told.inputs ?? traits.inputs,
      tools: told.tools ?? true,
      customTools: traits.customTools?.test(model) ?? false,
      contextLength: options.contextLength ?? told.contextLength ?? null,
      jsonSchema: traits.jsonSchema,
      forcedTool: traits.forcedTool,
      prefixCache: traits.prefixCache,
      ...options.capabilities,
      ...(traits.format && { customTools: false }),
      speaks: {
        ...traits.speaks,
        completions: traits.completions ? 'native' : 'no',
        ...options.capabilities?.speaks,
      },
    };
  }

  async function look(): Promise<void> {
    if (isFound || !isOpen()) return;
    lookingAgain?.cancel();
    try {
      const reply = await get(modelsPath);
      const { status, body } = reply;
      if (status >= 500 || status === 429) throw new Error(`status ${status}`);
      const flavor = status === 200 ? flavorOf(fieldsOf(JSON.parse(body.toString())), model) : 'generic';
      isFound = true;
      take(flavor);
      models = reply;
      log.info(
        { upstream: address.host, upstream_model: model, flavor },
        'found out what kind of server the upstream is',
      );
    } catch {
      if (isOpen()) lookingAgain = clock.after(lookAgainMs, () => void look());
    }
  }

  const cutsAt = () => (traits.cutsPrompts ? (told.contextLength ?? options.contextLength) : null);

  return {
    get traits() {
      return traits;
    },
    get wording() {
      return wording;
    },
    get dialect() {
      return dialect;
    },
    get capabilities() {
      return capabilities;
    },
    get countTokens() {
      return countTokens;
    },
    get chatPath() {
      return traits.paths?.chat ?? dialect.path;
    },
    get embeddingsPath() {
      return traits.paths?.embeddings ?? '/embeddings';
    },
    get cutsAt() {
      return cutsAt();
    },
    reading: () => ({
      usageOf: usageReader(traits.usage),
      finishes: traits.finish,
      cutsAt: cutsAt(),
    }),
    look,

    async probe() {
      await look();
      const just = models;
      models = null;
      told = await askHowItIs(traits.report, {
        model,
        listsAll: traits.listsAll ?? false,
        address,
        get: async (path) => (just && path === modelsPath ? just : get(path)),
        post,
        refusal: (reply) => errorForStatus({ ...reply, text: reply.body.toString() }, context()),
      });
      wording = { ...wording, told };
      capabilities = capabilitiesNow();
      return told;
    },

    listsModel: () =>
      says(
        () => get(modelsPath),
        (fields) => hasModel(fields, model),
      ),
    rest: () => lookingAgain?.cancel(),
  };
}

/** Whoever configures where they are asked for knows of some. */
function makesEmbeddings({ paths, ...traits }: FlavorTraits): boolean {
  return !traits.noEmbeddings || paths?.embeddings !== undefined;
}

/** Whether its reply is what is looked for; not where it is away. */
export async function says(
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
