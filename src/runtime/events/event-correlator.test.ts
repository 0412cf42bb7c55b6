import { expect, it } from 'vitest';
import { createManualClock } from '#base/testing/manual-clock.ts';
import { createCorrelator } from './event-correlator.ts';

const news = (message: string, about = 'uid') => ({
  about,
  type: 'Warning' as const,
  reason: 'Failed',
  message,
});

it('counts equal events on one Event', () => {
  const correlate = createCorrelator({ clock: createManualClock() });
  expect(correlate(news('a'))?.count).toBe(1);
  expect(correlate(news('a'))?.count).toBe(2);
  expect(correlate(news('b'))?.count).toBe(1);
});

it('combines more than ten similar events', () => {
  const correlate = createCorrelator({ clock: createManualClock() });
  const keys = new Set(Array.from({ length: 15 }, (_, at) => correlate(news(`m${at}`))?.key));
  expect(keys.size).toBe(11);
  expect(correlate(news('m99'))?.message).toBe('(combined from similar events): m99');
  expect(correlate(news('m3'))?.message).toBe('m3');
});

it('limits one object and reason to 25 Events, then one in five minutes', async () => {
  const clock = createManualClock();
  const correlate = createCorrelator({ clock });
  const passed = () => Array.from({ length: 40 }, () => correlate(news('a'))).filter(Boolean).length;
  expect(passed()).toBe(25);
  expect(correlate(news('a', 'another'))).toBeDefined();
  expect(correlate({ ...news('a'), reason: 'HostUnclean' })).toBeDefined();
  await clock.advance(300_000);
  expect(passed()).toBe(1);
});
