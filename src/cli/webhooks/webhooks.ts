import { group, one } from '../shared/commands.ts';
import { exitCodes } from '../shared/exit-codes.ts';
import { webhooksCreate } from './create.ts';
import { webhooksDeliveries } from './deliveries.ts';
import { webhooksList } from './list.ts';
import { showDelivery, showWebhook } from './show-webhook.ts';
import { webhooksUpdate } from './update.ts';

const remove = one({
  name: 'delete',
  about: 'delete a webhook and its deliveries',
  example: 'wh_0199f3a2',
  ask: ({ webhooks: remote }, id) => remote.remove(id),
  show: ({ id }, terminal) => terminal.print(`Deleted ${id}.`),
});

const rotate = one({
  name: 'rotate',
  about: 'make a new secret; the one before signs, too, for 24 hours',
  example: 'wh_0199f3a2',
  ask: ({ webhooks: remote }, id) => remote.rotate(id),
  show: showWebhook,
});

const test = one({
  name: 'test',
  about: 'send a webhook an event of the type webhook.test, and tell how that went',
  example: 'wh_0199f3a2',
  ask: ({ webhooks: remote }, id) => remote.test(id),
  exitCodeOf: ({ status }) => (status === 'delivered' ? exitCodes.ok : exitCodes.usage),
  show: showDelivery,
});

const replay = one({
  name: 'replay',
  about: 'tell of the event of a delivery again, in a new one',
  argument: '<delivery>',
  example: 'dlv_0199f3a2',
  ask: ({ webhooks: remote }, id) => remote.replay(id),
  show: showDelivery,
});

export const webhooks = group('webhooks', [
  webhooksCreate,
  webhooksList,
  webhooksUpdate,
  remove,
  rotate,
  test,
  webhooksDeliveries,
  replay,
]);
