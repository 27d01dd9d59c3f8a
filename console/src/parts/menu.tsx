import * as Radix from '@radix-ui/react-dropdown-menu';
import { Button } from './button.tsx';
import css from './menu.module.css';

export interface MenuItem {
  label: string;
  kind?: 'danger';
  isDisabled?: boolean;
  onSelect: () => void;
}

/** Button that opens a menu of actions. */
export function Menu({ label, items }: { label: string; items: readonly MenuItem[] }) {
  return (
    // Not modal: the lock of the page would add a style sheet, which the content policy forbids.
    <Radix.Root modal={false}>
      <Radix.Trigger asChild>
        <Button>{label}</Button>
      </Radix.Trigger>
      <Radix.Portal>
        <Radix.Content className={css.menu} align="end" sideOffset={4} collisionPadding={8}>
          {items.map((item) => (
            <Radix.Item
              key={item.label}
              className={css.item}
              data-kind={item.kind}
              disabled={item.isDisabled === true}
              onSelect={item.onSelect}
            >
              {item.label}
            </Radix.Item>
          ))}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}
