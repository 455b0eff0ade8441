// What the theme leaves out for readers with a keyboard or a screen reader.
addEventListener("DOMContentLoaded", () => {
  for (const heading of document.querySelectorAll('[role="heading"]:not([aria-level])')) {
    heading.setAttribute("aria-level", "2");
  }
  for (const box of document.querySelectorAll(".table-wrapper, .highlight pre, .output")) {
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
  }
});
