/** So many files run at once, each with hosts of its own: much of a test is to await somebody else. */
export const LANES = Math.max(1, Math.trunc(Number(process.env['LANES'] ?? 3)) || 1);
export const LANE_HOSTS = 5;
