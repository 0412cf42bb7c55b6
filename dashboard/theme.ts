import { type CSSVariablesResolver, createTheme } from '@mantine/core';

/** Shades in which text has a contrast of at least 4.5 (WCAG 2.2, 1.4.3). */
const COLOURS = ['green', 'blue', 'red', 'orange', 'yellow', 'gray', 'indigo'] as const;

export const theme = createTheme({
  primaryColor: 'indigo',
  primaryShade: { light: 8, dark: 8 },
  autoContrast: true,
  fontFamily: 'system-ui, sans-serif',
});

const shades = (shade: number): Record<string, string> =>
  Object.fromEntries(
    COLOURS.flatMap((colour) => [
      [`--mantine-color-${colour}-text`, `var(--mantine-color-${colour}-${shade})`],
      [`--mantine-color-${colour}-light-color`, `var(--mantine-color-${colour}-${shade})`],
    ]),
  );

export const cssVariables: CSSVariablesResolver = () => ({
  variables: {},
  light: {
    ...shades(9),
    '--mantine-color-anchor': 'var(--mantine-color-indigo-8)',
    '--mantine-color-dimmed': 'var(--mantine-color-gray-7)',
    '--mantine-color-placeholder': 'var(--mantine-color-gray-7)',
    '--mantine-color-error': 'var(--mantine-color-red-9)',
    '--mantine-color-yellow-light-color': '#6b4700',
    '--mantine-color-orange-light-color': '#8a3a00',
    '--mantine-color-green-light-color': '#1b6330',
  },
  dark: {
    ...shades(2),
    '--mantine-color-anchor': 'var(--mantine-color-indigo-3)',
    '--mantine-color-dimmed': 'var(--mantine-color-dark-0)',
    '--mantine-color-placeholder': 'var(--mantine-color-dark-1)',
    '--mantine-color-error': 'var(--mantine-color-red-4)',
  },
});
