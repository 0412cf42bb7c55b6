import { GROUP } from '#api/names.ts';
import type { Ingress, IngressClass } from '#api/networking.ts';

/** `spec.controller` of the IngressClasses that are ours. */
export const CONTROLLER_NAME = `${GROUP}/ingress`;
/** The class before there were IngressClasses; a class of that name must be there all the same. */
const OLD_ANNOTATION = 'kubernetes.io/ingress.class';
const DEFAULT_ANNOTATION = 'ingressclass.kubernetes.io/is-default-class';

const isDefault = ({ metadata }: IngressClass): boolean =>
  metadata.annotations?.[DEFAULT_ANNOTATION] === 'true';

/** Whether an Ingress is ours to serve, by the classes that there are. */
export function isOursBy(classes: readonly IngressClass[]): (ingress: Ingress) => boolean {
  const ours = classes.filter(({ spec }) => spec?.controller === CONTROLLER_NAME);
  const names = new Set(ours.map(({ metadata }) => metadata.name));
  const takesRest = ours.some(isDefault);
  return (ingress) => {
    const name = classOf(ingress);
    return name === undefined ? takesRest : names.has(name);
  };
}

const classOf = ({ metadata, spec }: Ingress): string | undefined =>
  spec?.ingressClassName ?? metadata.annotations?.[OLD_ANNOTATION];

/** Whether an Ingress names no class where none is the default: then no controller is asked to serve it. */
export const lacksClass = (classes: readonly IngressClass[], ingress: Ingress): boolean =>
  classOf(ingress) === undefined && !classes.some(isDefault);
