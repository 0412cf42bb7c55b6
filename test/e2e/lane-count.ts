/** So many files run at once, each with hosts of its own: the last lane is for light ones (rows.ts). */
export const LANES = Math.max(1, Math.trunc(Number(process.env['LANES'] ?? 3)) || 1);
export const HEAVY_LANES = Math.max(1, LANES - 1);
export const LANE_HOSTS = 5;
