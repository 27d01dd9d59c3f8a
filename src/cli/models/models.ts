import { group } from '../shared/commands.ts';
import { modelsInspect } from './inspect.ts';
import { modelsList } from './list.ts';
import { modelsLocal } from './local.ts';
import { modelsPull } from './pull.ts';

export const models = group('models', [modelsList, modelsLocal, modelsPull, modelsInspect]);
