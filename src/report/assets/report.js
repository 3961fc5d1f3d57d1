"use strict";
(async () => {
  const tip = document.getElementById("tip");
  const said = document.getElementById("said");

  // Numbers of figures are packed; a browser that cannot unpack them offers none.
  const unpacked = (base64) => {
    const bytes = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))).text();
  };
  await Promise.all([...document.querySelectorAll("pre[data-packed]")].map(async (pre) => {
    try {
      pre.textContent = await unpacked(pre.textContent);
    } catch {
      for (const part of pre.parentNode.querySelectorAll("details, button[data-kind=csv]")) part.remove();
    }
  }));

  const textOf = (block, kind) => block.querySelector(`pre[data-kind="${kind}"]`)?.textContent ?? "";

  // Fields of CSV text, in which quotes may hide commas and ends of lines.
  const parseCsv = (text) => {
    const rows = [[]];
    for (const match of text.matchAll(/(?:"((?:[^"]|"")*)"|([^,\n]*))(,|\n|$)/g)) {
      if (match[0] === "" && match.index >= text.length) break;
      rows.at(-1).push(match[1] === undefined ? match[2] : match[1].replaceAll('""', '"'));
      if (match[3] === "\n") rows.push([]);
    }
    return rows.filter((row) => row.length > 0);
  };
  const parsed = new WeakMap();
  const rowsOf = (block) => {
    if (!parsed.has(block)) parsed.set(block, parseCsv(textOf(block, "csv")));
    return parsed.get(block);
  };

  // --- values on hover ---
  const wordsAt = (mark) => {
    if (mark.dataset?.t) return mark.dataset.t;
    const cloud = mark.parentNode;
    const first = cloud?.dataset?.rows;
    if (first === undefined) return "";
    const rows = rowsOf(mark.closest(".block"));
    const row = rows[1 + Number(first) + [...cloud.children].indexOf(mark)];
    if (row && cloud.dataset.say)
      return cloud.dataset.say.replace(/\{(\w+)\}/g, (_, name) => {
        const value = row[rows[0].indexOf(name)];
        return /\.\d{3,}$/.test(value) ? Number(value).toFixed(2) : value;
      });
    return row ? rows[0].map((name, i) => row[i] === "" ? "" : `${name} ${short(row[i])}`).filter(Boolean).join(", ") : "";
  };
  const short = (text) => /^-?\d+\.\d{4,}/.test(text) ? String(Number(Number(text).toPrecision(5))) : text;
  const show = (event) => {
    const mark = event.target.closest?.("[data-t], [data-rows] > *");
    const words = mark ? wordsAt(mark) : "";
    tip.hidden = !words;
    if (!words) return;
    tip.textContent = words;
    const box = tip.getBoundingClientRect();
    tip.style.left = `${Math.max(4, Math.min(event.clientX + 12, innerWidth - box.width - 8))}px`;
    tip.style.top = `${event.clientY + box.height + 24 > innerHeight ? event.clientY - box.height - 10 : event.clientY + 14}px`;
  };
  document.addEventListener("pointermove", show);
  document.addEventListener("pointerdown", show);
  document.addEventListener("scroll", () => { tip.hidden = true; }, { passive: true });

  // --- files ---
  const save = (name, type, text) => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  };
  // Lines of a title that fit over a picture.
  const wrapped = (text, most) => text.split(" ").reduce((lines, word) => {
    if ((lines.at(-1) + " " + word).length > most && lines.at(-1)) lines.push(word);
    else lines[lines.length - 1] = (lines.at(-1) + " " + word).trim();
    return lines;
  }, [""]);
  // All panels of a figure in one picture that needs nothing else.
  const picture = (block) => {
    const space = "http://www.w3.org/2000/svg";
    const panels = [...block.querySelectorAll("svg.panel")];
    const columns = Math.min(Number(block.dataset.columns), panels.length);
    const out = document.createElementNS(space, "svg");
    out.setAttribute("xmlns", space);
    out.setAttribute("class", "panel");
    const style = document.createElementNS(space, "style");
    style.textContent = document.getElementById("figure-style").textContent;
    out.append(style);
    const size = (svg) => svg.getAttribute("viewBox").split(" ").slice(2).map(Number);
    const wide = Math.max(...panels.map((svg) => size(svg)[0]));
    const title = wrapped(block.querySelector("h3 span").textContent, wide * columns / 7.4);
    title.forEach((line, i) => {
      const text = document.createElementNS(space, "text");
      text.setAttribute("x", 4);
      text.setAttribute("y", 18 + 18 * i);
      text.setAttribute("style", "font-size:14px;font-weight:600");
      text.textContent = line;
      out.append(text);
    });
    let top = 30 + 18 * (title.length - 1);
    for (let i = 0; i < panels.length; i += columns) {
      const row = panels.slice(i, i + columns);
      row.forEach((svg, j) => {
        const copy = svg.cloneNode(true);
        copy.setAttribute("x", j * (wide + 16));
        copy.setAttribute("y", top);
        for (const mark of copy.querySelectorAll("[data-t]")) {
          const name = document.createElementNS(space, "title");
          name.textContent = mark.dataset.t;
          mark.append(name);
          mark.removeAttribute("data-t");
        }
        out.append(copy);
      });
      top += Math.max(...row.map((svg) => size(svg)[1])) + 12;
    }
    out.setAttribute("viewBox", `0 0 ${wide * columns + 16 * (columns - 1)} ${top}`);
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + new XMLSerializer().serializeToString(out);
  };

  // --- copies ---
  const copy = async (text) => {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      const area = document.createElement("textarea");
      area.value = text;
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
    }
  };
  document.addEventListener("click", async (event) => {
    const button = event.target.closest("button[data-do]");
    if (!button) return;
    const block = button.closest(".block");
    const kind = button.dataset.kind;
    if (button.dataset.do === "copy") await copy(textOf(block, kind));
    else if (kind === "svg") save(`${block.id}.svg`, "image/svg+xml", picture(block));
    else save(`${block.id}.csv`, "text/csv", textOf(block, "csv"));
    const words = button.textContent;
    button.textContent = button.dataset.do === "copy" ? "copied" : "saved";
    said.textContent = `${words}: ${button.textContent}`;
    setTimeout(() => { button.textContent = words; }, 1200);
  });

  // --- numbers of a figure, made when they are looked at ---
  document.addEventListener("toggle", (event) => {
    const place = event.target.querySelector?.(".scroll[data-empty]");
    if (!place) return;
    place.removeAttribute("data-empty");
    const rows = rowsOf(event.target.closest(".block"));
    const table = document.createElement("table");
    rows.slice(0, 2001).forEach((row, i) => {
      const line = (i === 0 ? table.createTHead() : table.tBodies[0] ?? table.createTBody()).insertRow();
      for (const field of row) {
        const cell = document.createElement(i === 0 ? "th" : "td");
        if (i === 0) cell.scope = "col";
        else if (field !== "" && !Number.isNaN(Number(field))) cell.className = "n";
        cell.textContent = i === 0 ? field : short(field);
        line.append(cell);
      }
    });
    place.append(table);
  }, true);

  // --- where one is ---
  const links = new Map([...document.querySelectorAll("nav a")].map((link) => [link.hash.slice(1), link]));
  const seen = new IntersectionObserver((entries) => {
    for (const entry of entries)
      if (entry.isIntersecting) {
        for (const link of links.values()) link.classList.remove("here");
        links.get(entry.target.id)?.classList.add("here");
      }
  }, { rootMargin: "0px 0px -70% 0px" });
  for (const section of document.querySelectorAll("main section")) seen.observe(section);
  document.documentElement.dataset.ready = "";
})();
