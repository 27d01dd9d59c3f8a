import type { Command } from 'commander';
import { sum } from '../../base/sum.ts';
import type { RemoteModel } from '../../client/resources.ts';
import { waitingText } from '../shared/format.ts';
import { cleanLine } from '../terminal/clean-text.ts';
import { clientCommand, examples, group } from '../shared/commands.ts';
import { connect, connectAdmin, hasAdminKey } from '../shared/connect.ts';
import type { Cli, ClientOptions } from '../shared/cli.ts';
import { modelsInspect } from './inspect.ts';
import { modelsLocal } from './local.ts';
import { modelsPull } from './pull.ts';

export const models = group('models', [list, modelsLocal, modelsPull, modelsInspect]);

function list(cli: Cli): Command {
  return clientCommand(
    'list',
    'list the models that the key may use; with an admin key, all models and the state of their servers',
  )
    .addHelpText('after', examples('', '--json'))
    .action(async (options: ClientOptions) => {
      const client = hasAdminKey(cli, options) ? connectAdmin(cli, options) : connect(cli, options);
      const { data } = await client.models.list();
      if (options.json === true) return cli.terminal.json(data);
      const showsServers = data.some(({ replicas }) => replicas !== undefined);
      const rows = data.map((model) => [
        model.id,
        (model.aliases ?? []).join(', '),
        servesText(model),
        ...(showsServers ? [serversText(model)] : []),
      ]);
      cli.terminal.table(['id', 'aliases', 'serves', ...(showsServers ? ['servers'] : [])], rows);
      for (const { id, replicas = [] } of data)
        for (const { name, waiting } of replicas)
          if (waiting)
            cli.terminal.note(
              cleanLine(`${id}: ${name} takes no requests since ${waiting.since}. ${waitingText(waiting)}`),
            );
    });
}

function servesText({ serves = [], batch_only: batchOnly }: RemoteModel): string {
  return serves.join(', ') + (batchOnly ? ' (batches only)' : '');
}

/** State of servers as `2 of 3 up, 5 in flight, 24 slots`. */
function serversText({ replicas = [], batch_only: batchOnly }: RemoteModel): string {
  if (batchOnly) return 'other processes';
  const up = replicas.filter(({ health }) => health === 'up');
  const inFlight = sum(replicas.map(({ in_flight }) => in_flight));
  const slots = sum(up.map((each) => each.slots));
  return `${up.length} of ${replicas.length} up, ${inFlight} in flight, ${slots} slots`;
}
