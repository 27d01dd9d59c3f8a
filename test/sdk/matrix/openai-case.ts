import type * as zodHelpers from 'openai/helpers/zod';
import type { RunningApp } from '../../support/app.ts';
import type { FakeUpstream } from '../../support/fake-upstream.ts';
import type { Client, Sdk } from '../clients.ts';

/** What a cell of the openai family works with. */
export interface OpenAICase {
  client: Client;
  sdk: Sdk;
  /** The helpers that come with this client. */
  zod: typeof zodHelpers;
  running: RunningApp;
  /** Behind the model `weather`. */
  upstream: FakeUpstream;
}
