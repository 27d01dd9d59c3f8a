import { useState } from 'react';
import { api, bodyOf } from '../../api/client.ts';
import { LimitsInUse } from '../../parts/limits-in-use.tsx';
import { changesOf, toDraft } from './draft.ts';
import { NumberField, TextField } from './fields.tsx';
import { FormDialog } from './form-dialog.tsx';
import css from './keys.module.css';
import type { Org } from '../../api/orgs.ts';
import { useChange } from './queries.ts';
import { SettingsFields } from './settings-fields.tsx';

/** Form of a new org, or of the settings of one. */
export function OrgForm({ org, onClose }: { org?: Org | undefined; onClose: () => void }) {
  const [draft, setDraft] = useState(() => toDraft(org));
  const [weight, setWeight] = useState(String(org?.weight ?? 1));
  const [isDisabled, setDisabled] = useState(org?.disabled ?? false);
  const save = useChange(async () => {
    const changes = {
      ...changesOf(draft, org),
      ...(Number(weight) !== (org?.weight ?? 1) && { weight: Number(weight) }),
      ...(isDisabled !== (org?.disabled ?? false) && { disabled: isDisabled }),
    };
    return org
      ? bodyOf(api.PATCH('/v1/admin/orgs/{org_id}', { params: { path: { org_id: org.id } }, body: changes }))
      : bodyOf(api.POST('/v1/admin/orgs', { body: { ...changes, name: draft.name.trim() } }));
  });
  return (
    <FormDialog
      title={org ? `Org ${org.name}` : 'New org'}
      action={org ? 'Save' : 'Create org'}
      isBusy={save.isPending}
      error={save.error}
      onSubmit={() => save.mutate(undefined, { onSuccess: onClose })}
      onClose={onClose}
    >
      <div className={css.columns}>
        <TextField
          label="Name"
          autoFocus
          required
          value={draft.name}
          onChange={(name) => setDraft({ ...draft, name })}
        />
        <NumberField
          label="Weight"
          hint="Its share of the slots: 2 is twice as much as 1"
          min={1}
          max={1000}
          value={weight}
          onChange={setWeight}
        />
      </div>
      <SettingsFields draft={draft} onChange={setDraft} />
      {org && (
        <div className={css.group}>
          <h3 className={css.heading}>Limits in use</h3>
          <LimitsInUse of={{ kind: 'org', id: org.id }} isNarrow />
        </div>
      )}
      {org && (
        <label className="check">
          <input
            type="checkbox"
            checked={isDisabled}
            onChange={({ target }) => setDisabled(target.checked)}
          />
          Disabled: requests are rejected, and batches wait
        </label>
      )}
    </FormDialog>
  );
}
