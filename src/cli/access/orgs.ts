import { group } from '../shared/commands.ts';
import { orgsCreate } from './orgs-create.ts';
import { orgsList } from './orgs-list.ts';
import { orgsUpdate } from './orgs-update.ts';

export const orgs = group('orgs', [orgsCreate, orgsList, orgsUpdate]);
