import { group } from '../shared/commands.ts';
import { orgsCreate } from './orgs-create.ts';
import { orgsList } from './orgs-list.ts';

export const orgs = group('orgs', [orgsCreate, orgsList]);
