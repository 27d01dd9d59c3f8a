import { Button } from '../../parts/button.tsx';
import { CopyButton } from '../../parts/copy-button.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { type Fact, Facts } from '../../parts/facts.tsx';
import { money } from '../../parts/format.ts';
import { LimitsInUse } from '../../parts/limits-in-use.tsx';
import { State } from '../../parts/state.tsx';
import { Time, useNow } from '../../parts/time.tsx';
import type { Ending } from './end-key.tsx';
import { keyState } from './key-state.ts';
import css from './keys.module.css';
import type { Key } from './queries.ts';

interface KeyDetailsProps {
  shown: Key;
  /** False for a session that changes nothing. */
  canChange: boolean;
  onEdit: () => void;
  onRotate: () => void;
  onEnd: (ending: Ending) => void;
  onClose: () => void;
}

/** Settings and state of a key, with what can be done about it. */
export function KeyDetails({ shown: key, canChange, onEdit, onRotate, onEnd, onClose }: KeyDetailsProps) {
  const { kind, word } = keyState(key, useNow());
  const isOver = key.revoked_at !== null;
  const canRotate = !isOver && word !== 'Expired' && !key.disabled && key.replaced_by === null;
  return (
    <Dialog
      title={key.name || key.id}
      onClose={onClose}
      actions={
        <>
          {canChange && !isOver && (
            <>
              <Button kind="danger" onClick={() => onEnd('revoke')}>
                Revoke
              </Button>
              <Button onClick={() => onEnd(key.disabled ? 'enable' : 'disable')}>
                {key.disabled ? 'Enable' : 'Disable'}
              </Button>
              {canRotate && <Button onClick={onRotate}>Rotate</Button>}
              <Button onClick={onEdit}>Edit</Button>
            </>
          )}
          <Button onClick={onClose}>Close</Button>
        </>
      }
    >
      <Facts
        facts={[
          { label: 'State', value: <State kind={kind}>{word}</State> },
          {
            label: 'ID',
            value: (
              <>
                <code>{key.id}</code> <CopyButton text={key.id} what="the key ID" />
              </>
            ),
          },
          { label: 'Key', value: <code>{key.prefix}</code> },
          { label: 'Org', value: <span title={key.org_id}>{key.org ?? key.org_id}</span> },
          { label: 'Scopes', value: key.scopes.join(', ') },
          { label: 'Models', value: key.models?.join(', ') ?? 'All' },
          { label: 'Priority', value: `Up to ${key.priority}` },
          ...(key.service_tier === null ? [] : [{ label: 'Service tier', value: key.service_tier }]),
          ...budgetFacts(key),
          { label: 'Created', value: <Time at={key.created_at} /> },
          { label: 'Last used', value: key.last_used_at === null ? 'Never' : <Time at={key.last_used_at} /> },
          ...endFacts(key),
        ]}
      />
      <h3 className={css.heading}>Limits of its org, and of the key</h3>
      <LimitsInUse of={{ kind: 'key', id: key.id }} isNarrow />
    </Dialog>
  );
}

function budgetFacts({ budget }: Pick<Key, 'budget'>): Fact[] {
  if (!budget) return [];
  const spent = budget.spent === null ? '' : `${money(budget.spent)} of `;
  const period = budget.period === 'month' ? 'this month' : 'in total';
  return [{ label: 'Budget', value: `${spent}${money(budget.amount)} ${period}` }];
}

function endFacts({ expires_at: expires, revoked_at: revoked, replaced_by: replacement }: Key): Fact[] {
  return [
    { label: 'Expires', value: expires === null ? 'Never' : <Time at={expires} /> },
    ...(revoked === null ? [] : [{ label: 'Revoked', value: <Time at={revoked} /> }]),
    ...(replacement === null ? [] : [{ label: 'Replaced by', value: <code>{replacement}</code> }]),
  ];
}
