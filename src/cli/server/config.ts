import { group } from '../shared/commands.ts';
import { configCheck } from './config-check.ts';

export const config = group('config', [configCheck]);
