import { Group, Modal } from '@mantine/core';
import type { ReactNode } from 'react';

/** A modal dialog. Its head is not a landmark of the page, unlike that of Mantine's Modal. */
export function Dialog({
  title,
  size,
  onClose,
  children,
}: {
  title: string;
  size: 'lg' | 'xl';
  onClose: () => void;
  children: ReactNode;
}) {
  return (
    <Modal.Root opened onClose={onClose} size={size}>
      <Modal.Overlay />
      <Modal.Content>
        <Group justify="space-between" wrap="nowrap" p="md">
          <Modal.Title>{title}</Modal.Title>
          <Modal.CloseButton aria-label="Close the dialog" />
        </Group>
        <Modal.Body>{children}</Modal.Body>
      </Modal.Content>
    </Modal.Root>
  );
}
