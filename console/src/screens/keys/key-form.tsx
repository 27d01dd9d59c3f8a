import { useState } from 'react';
import { defaultScopes, type KeyScope, scopes } from '../../../../src/core/org.ts';
import { type ServiceTier, serviceTiers } from '../../../../src/core/service-tier.ts';
import { api, bodyOf } from '../../api/client.ts';
import { changesOf, toDraft } from './draft.ts';
import { NumberField, SelectField, TextField } from './fields.tsx';
import { FormDialog } from './form-dialog.tsx';
import css from './keys.module.css';
import type { Org } from '../../api/orgs.ts';
import { type Key, type NewKey, useChange } from './queries.ts';
import { SettingsFields } from './settings-fields.tsx';

interface KeyFormProps {
  /** Absent for a new key. */
  keyToChange?: Key | undefined;
  orgs: readonly Org[];
  /** Org that is chosen at first. */
  org?: string | undefined;
  /** Called with a new key and its secret. */
  onCreated: (key: NewKey) => void;
  onClose: () => void;
}

/** Form of a new key, or of the settings of one. */
export function KeyForm({ keyToChange: key, orgs, org, onCreated, onClose }: KeyFormProps) {
  const [draft, setDraft] = useState(() => toDraft(key));
  const [orgId, setOrgId] = useState(key?.org_id ?? org ?? orgs[0]?.id ?? '');
  const [chosen, setChosen] = useState<readonly KeyScope[]>(key?.scopes ?? defaultScopes);
  const [models, setModels] = useState(key?.models?.join(', ') ?? '');
  const oldDay = key?.expires_at?.slice(0, 10) ?? '';
  const [lastDay, setLastDay] = useState(oldDay);
  const [priority, setPriority] = useState(String(key?.priority ?? 9));
  const [tier, setTier] = useState<ServiceTier | ''>(key?.service_tier ?? '');

  const save = useChange(async (): Promise<NewKey | undefined> => {
    const names = models.split(',').flatMap((name) => name.trim() || []);
    const body = {
      ...changesOf(draft, key),
      scopes: [...chosen],
      models: names.length > 0 ? names : null,
      priority: Number(priority),
      service_tier: tier === '' ? null : tier,
      ...(lastDay !== oldDay && { expires_at: lastDay === '' ? null : `${lastDay}T23:59:59Z` }),
    };
    if (!key) return bodyOf(api.POST('/v1/admin/keys', { body: { ...body, org_id: orgId } }));
    await bodyOf(api.PATCH('/v1/admin/keys/{key_id}', { params: { path: { key_id: key.id } }, body }));
    return undefined;
  });

  return (
    <FormDialog
      title={key ? `Key ${key.name || key.id}` : 'New key'}
      action={key ? 'Save' : 'Create key'}
      isBusy={save.isPending}
      error={save.error}
      onSubmit={() =>
        save.mutate(undefined, {
          onSuccess(created) {
            onClose();
            if (created) onCreated(created);
          },
        })
      }
      onClose={onClose}
    >
      <div className={css.columns}>
        <TextField
          label="Name"
          autoFocus
          value={draft.name}
          placeholder="What it is for"
          onChange={(name) => setDraft({ ...draft, name })}
        />
        <SelectField label="Org" value={orgId} disabled={key !== undefined} onChange={setOrgId}>
          {orgs.map(({ id, name }) => (
            <option key={id} value={id}>
              {name}
            </option>
          ))}
        </SelectField>
        <TextField
          label="Models"
          hint="Separated by commas"
          value={models}
          placeholder="All models"
          onChange={setModels}
        />
        <TextField
          label="Last day (UTC)"
          hint="Without one, the key does not expire"
          type="date"
          value={lastDay}
          onChange={setLastDay}
        />
        <NumberField
          label="Highest priority of its batches"
          hint="From 0, last, to 9, first"
          min={0}
          max={9}
          value={priority}
          onChange={setPriority}
        />
        <SelectField
          label="Service tier"
          hint="Of single requests without one"
          value={tier}
          onChange={(value) => setTier(tierOf(value))}
        >
          <option value="">None: answered at once</option>
          {serviceTiers.map((each) => (
            <option key={each} value={each}>
              {tierLabels[each]}
            </option>
          ))}
        </SelectField>
      </div>
      <fieldset className={css.group}>
        <legend>Scopes</legend>
        <div className={css.columns}>
          {scopes.map((scope) => (
            <label key={scope} className="check">
              <input
                type="checkbox"
                checked={chosen.includes(scope)}
                onChange={({ target }) =>
                  setChosen(target.checked ? [...chosen, scope] : chosen.filter((each) => each !== scope))
                }
              />
              <span>
                <code className="quiet">{scope}</code> {scopeLabels[scope]}
              </span>
            </label>
          ))}
        </div>
      </fieldset>
      <SettingsFields draft={draft} onChange={setDraft} />
    </FormDialog>
  );
}

const tierLabels: Readonly<Record<ServiceTier, string>> = {
  default: 'Default: answered at once',
  flex: 'Flex: at the batch price',
};

function tierOf(value: string): ServiceTier | '' {
  return serviceTiers.find((tier) => tier === value) ?? '';
}

const scopeLabels: Readonly<Record<KeyScope, string>> = {
  inference: 'single requests',
  batches: 'create and steer',
  'batches:read': 'see them',
  files: 'upload and read',
  'files:read': 'read them',
  usage: 'usage and cost',
  admin: 'everything of all orgs',
  'admin:read': 'see all orgs',
};
