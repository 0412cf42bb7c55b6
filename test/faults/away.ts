/** Last part of the address at which no host answers. */
export const AWAY = 99;
export const isAway = (ip: string): boolean => ip.endsWith(`.${AWAY}`);
